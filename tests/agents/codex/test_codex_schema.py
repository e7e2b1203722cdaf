"""The native schema, the decoder and the document agree on every message there is."""

import re
import subprocess
from pathlib import Path

import msgspec
import pytest
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.codex.decode import threads
from everyagent.agents.codex.decode.decoder import MAPPED, REQUESTS
from everyagent.agents.codex.protocol.ignored import IGNORED

#: Codex sends these only on request and leaves them out of its schema.
UNLISTED = {"rawResponseItem/completed", "rawResponse/completed"}
DOCUMENT = Path(__file__).parents[3] / "docs" / "agents" / "codex.md"


class Enum(msgspec.Struct, frozen=True):
    enum: list[str] = []


class Properties(msgspec.Struct, frozen=True):
    method: Enum = Enum()
    type: Enum = Enum()


class Variant(msgspec.Struct, frozen=True, rename="camel"):
    properties: Properties = Properties()


class Union(msgspec.Struct, frozen=True, rename="camel"):
    one_of: list[Variant] = []


class Definitions(msgspec.Struct, frozen=True):
    item: Union = msgspec.field(name="ThreadItem")


class Notifications(Union, frozen=True, rename="camel", kw_only=True):
    definitions: Definitions


@pytest.fixture(scope="module")
def schema(codex_program: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("schema")
    words = [codex_program, "app-server", "generate-json-schema", "--out", str(folder), "--experimental"]
    subprocess.run(words, check=True, capture_output=True, env={"HOME": str(folder)}, timeout=LIMIT_SECONDS)
    return folder


def listed(table: str) -> dict[str, str]:
    """The rows of one of the document's tables."""
    found = re.search(rf"<!-- {table} -->\n(.*?)<!-- end of {table} -->", DOCUMENT.read_text(), re.DOTALL)
    assert found
    rows = [row.split(" | ", 1) for row in found[1].splitlines()]
    return {head.removeprefix("| `").removesuffix("`"): rest.removesuffix(" |") for head, rest in rows}


def methods(union: Union) -> set[str]:
    return {name for variant in union.one_of for name in variant.properties.method.enum}


def notifications(schema: Path) -> Notifications:
    return msgspec.json.decode((schema / "ServerNotification.json").read_bytes(), type=Notifications)


def test_every_native_notification_is_mapped_or_ignored_on_purpose(schema: Path) -> None:
    assert methods(notifications(schema)) | UNLISTED == set(MAPPED) | set(IGNORED)
    assert not set(MAPPED) & set(IGNORED)


def test_every_native_request_has_its_answer(schema: Path) -> None:
    requests = msgspec.json.decode((schema / "ServerRequest.json").read_bytes(), type=Union)
    assert methods(requests) == set(REQUESTS)


def test_every_native_item_type_is_mapped(schema: Path) -> None:
    variants = notifications(schema).definitions.item.one_of
    types = {name for variant in variants for name in variant.properties.type.enum}
    assert types | {"imageGeneration"} == set(threads.MAPPED)


def test_the_document_lists_every_message_and_item_as_it_is_decoded() -> None:
    told = listed("notifications")
    assert set(told) == set(MAPPED) | set(IGNORED)
    assert {name: words for name, words in told.items() if words.startswith("ignored")} == {
        name: f"ignored: {reason}" for name, reason in IGNORED.items()
    }
    assert set(listed("requests")) == set(REQUESTS)
    assert set(listed("items")) == set(threads.MAPPED)
