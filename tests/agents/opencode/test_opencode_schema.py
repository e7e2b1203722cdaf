"""The native schema, the decoder and the document agree on every event and part there is."""

import re
import subprocess
from collections.abc import Generator
from pathlib import Path

import httpx2
import msgspec
import pytest

from everyagent.agents.opencode.decode.decoder import MAPPED
from everyagent.agents.opencode.decode.messages import PARTS
from everyagent.agents.opencode.launch import argv
from everyagent.agents.opencode.policy import dependencies
from everyagent.agents.opencode.protocol.ignored import IGNORED

#: OpenCode sends this and leaves it out of its schema.
UNLISTED = {"server.heartbeat"}
DOCUMENT = Path(__file__).parents[3] / "docs" / "agents" / "opencode.md"


class Type(msgspec.Struct, frozen=True):
    enum: list[str] = []


class Properties(msgspec.Struct, frozen=True):
    type: Type = Type()


class Schema(msgspec.Struct, frozen=True, rename="camel"):
    ref: str = msgspec.field(default="", name="$ref")
    any_of: list["Schema"] = []
    properties: Properties = Properties()


class Components(msgspec.Struct, frozen=True):
    schemas: dict[str, msgspec.Raw]


class Document(msgspec.Struct, frozen=True):
    components: Components

    def types(self, union: str) -> set[str]:
        schemas = self.components.schemas
        variants = msgspec.json.decode(schemas[union], type=Schema).any_of
        names = [variant.ref.rpartition("/")[2] for variant in variants]
        whole = [msgspec.json.decode(schemas[name], type=Schema) for name in names]
        return {type for schema in whole for type in schema.properties.type.enum}


@pytest.fixture(scope="module")
def schema(opencode_program: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[Document]:
    home = str(tmp_path_factory.mktemp("schema"))
    quiet = {"OPENCODE_DISABLE_MODELS_FETCH": "1", dependencies.VARIABLE: dependencies.NOWHERE}
    environment = {"HOME": home, **quiet}
    words = [*argv(opencode_program), "--port", "0"]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd=home
    ) as server:
        assert server.stdout
        url = next(found[0].decode() for line in server.stdout if (found := re.search(rb"http://\S+", line)))
        try:
            answer = httpx2.get(f"{url}/doc", timeout=60)
            yield msgspec.json.decode(answer.content, type=Document)
        finally:
            server.kill()


def listed(table: str) -> dict[str, str]:
    """The rows of one of the document's tables."""
    found = re.search(rf"<!-- {table} -->\n(.*?)<!-- end of {table} -->", DOCUMENT.read_text(), re.DOTALL)
    assert found
    rows = [row.split(" | ", 1) for row in found[1].splitlines()]
    return {head.removeprefix("| `").removesuffix("`"): rest.removesuffix(" |") for head, rest in rows}


def test_every_native_event_is_mapped_or_ignored_on_purpose(schema: Document) -> None:
    assert schema.types("Event") | UNLISTED == set(MAPPED) | set(IGNORED)
    assert not set(MAPPED) & set(IGNORED)


def test_every_native_part_is_mapped(schema: Document) -> None:
    assert schema.types("Part") == set(PARTS)


def test_the_document_lists_every_event_and_part_as_it_is_decoded() -> None:
    told = listed("events")
    assert set(told) == set(MAPPED) | set(IGNORED)
    assert {name: words for name, words in told.items() if words.startswith("ignored")} == {
        name: f"ignored: {reason}" for name, reason in IGNORED.items()
    }
    assert set(listed("parts")) == set(PARTS)
