"""Compares our types with the examples and enums of the published universal schema."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import msgspec
import pytest

from everyagent.model.decoding import decode_event
from everyagent.model.events import DATA_BY_TYPE, Envelope, EventSource, Permission, Questions, SessionEnded
from everyagent.model.items import Item, ItemKind, ItemRole, ItemStatus
from everyagent.model.parts import ContentPart, FileRefPart, ReasoningPart

EXAMPLES = [
    (line["kind"], line["example"])
    for line in map(msgspec.json.decode, (Path(__file__).parent / "seeds.jsonl").read_bytes().splitlines())
]
#: Required fields of our types beyond the published schema.
ADDITIONS: dict[str, dict[str, object]] = {"item.delta": {"content_index": 0, "kind": "text"}}


def spelled_out(example: dict[str, object]) -> Iterator[dict[str, object]]:
    """All values of an alternative, which the schema writes as `"agent|daemon"`."""
    choices = {key: value.split("|") for key, value in example.items() if isinstance(value, str) and "|" in value}
    for chosen in itertools.product(*choices.values()):
        picked = dict(zip(choices, chosen, strict=True))
        yield example | {key: None if value == "null" else value for key, value in picked.items()}


CASES = [(kind, each) for kind, example in EXAMPLES for each in spelled_out(example)]


@pytest.mark.parametrize(("kind", "example"), CASES)
def test_a_published_example_decodes_and_encodes_back_with_all_its_fields(kind: str, example: dict[str, object]):
    body = msgspec.json.encode(example | ADDITIONS.get(kind, {}))
    match kind:
        case "envelope":
            decoded = decode_event(body)
            assert isinstance(decoded.data, DATA_BY_TYPE[decoded.type])
        case "part":
            decoded = msgspec.json.decode(body, type=ContentPart)
        case "item":
            decoded = msgspec.json.decode(body, type=Item)
        case _:
            decoded = msgspec.json.decode(body, type=DATA_BY_TYPE[kind])
    assert_within(example, msgspec.json.decode(msgspec.json.encode(decoded)))


def assert_within(expected: object, actual: object) -> None:
    if isinstance(expected, dict):
        assert isinstance(actual, dict)
        for key, value in expected.items():
            assert_within(value, actual[key])
    else:
        assert actual == expected


def test_every_published_event_type_has_an_example_and_a_struct():
    published = {
        *("session.started", "session.ended", "item.started", "item.delta", "item.completed", "error"),
        *("permission.requested", "permission.resolved", "question.requested", "question.resolved", "agent.unparsed"),
    }
    assert published <= DATA_BY_TYPE.keys()
    assert published <= {kind for kind, _ in EXAMPLES}


def test_our_event_types_are_the_published_ones_and_the_documented_additions():
    additions = {
        *("session.updated", "turn.started", "turn.ended", "tool.requested", "tool.resolved", "model.responded"),
    }
    assert DATA_BY_TYPE.keys() - {kind for kind, _ in EXAMPLES} == additions


@pytest.mark.parametrize(
    ("enum", "published"),
    [
        (EventSource, {"agent", "daemon"}),
        (ItemKind, {"message", "tool_call", "tool_result", "system", "status", "unknown"}),
        (ItemRole, {"user", "assistant", "system", "tool"}),
        (ItemStatus, {"in_progress", "completed", "failed"}),
        (SessionEnded.__annotations__["reason"], {"completed", "error", "terminated"}),
        (SessionEnded.__annotations__["terminated_by"], {"agent", "daemon"}),
        (Permission.__annotations__["status"], {"requested", "approved", "denied"}),
        (Questions.__annotations__["status"], {"requested", "answered", "rejected"}),
        (FileRefPart.__annotations__["action"], {"read", "write", "patch"}),
        (ReasoningPart.__annotations__["visibility"], {"public", "private"}),
    ],
)
def test_an_enum_has_exactly_the_published_values(enum: object, published: set[str]):
    assert set(get_args(enum)) == published


def test_our_part_types_are_the_published_ones():
    published = {"text", "json", "tool_call", "tool_result", "file_ref", "image", "reasoning", "status"}
    assert {part.__struct_config__.tag for part in get_args(ContentPart)} == published


def test_an_envelope_always_has_every_published_field():
    example = next(example for kind, example in EXAMPLES if kind == "envelope")
    encoded = msgspec.json.decode(msgspec.json.encode(decode_event(msgspec.json.encode(example))))
    fields = [field.encode_name for field in msgspec.structs.fields(Envelope)]
    assert list(encoded) == [name for name in fields if name != "actor"]  # set only if a client caused the event
    assert list(encoded)[-1] == "raw"
    assert encoded["raw"] is None
