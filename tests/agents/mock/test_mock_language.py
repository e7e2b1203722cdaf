"""Parsing of the mock's directives, and decoding of its frames."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everyagent.agents.mock.decode import decode
from everyagent.agents.mock.directives import Directive, parse
from everyagent.model.events import Unparsed
from everyagent.runtime.framing import Line

NAMES = frozenset({"tool", "text", "custom"})


@pytest.mark.parametrize(
    ("prompt", "options"),
    [
        ("[tool]", {}),
        ("[tool ]", {}),
        ("[tool words=200]", {"words": 200}),
        ("[tool a=1.5 b=true c=null d=bare-word]", {"a": 1.5, "b": True, "c": None, "d": "bare-word"}),
        ('[tool command="ls -l | head"]', {"command": "ls -l | head"}),
        ("[tool command='echo \"hi]\"']", {"command": 'echo "hi]"'}),
        (r'[tool command="grep \d+ \"x\""]', {"command": r'grep \d+ "x"'}),
        (
            '[tool input={"city": "Oslo", "days": [1, 2]} name=x]',
            {"input": {"city": "Oslo", "days": [1, 2]}, "name": "x"},
        ),
        ("[tool a=30s b=truely]", {"a": "30s", "b": "truely"}),
        ("[tool command=a/b.txt]", {"command": "a/b.txt"}),
    ],
)
def test_values_are_json_quoted_strings_or_bare_words(prompt: str, options: dict[str, object]) -> None:
    assert parse(prompt, NAMES) == [Directive("tool", options)]


@pytest.mark.parametrize("text", ["[unknown]", "[tool", "[tool x]", "a[0] = b[1]", "[]", "[Tool]", "[tool a=1"])
def test_anything_but_a_directive_is_text(text: str) -> None:
    assert parse(text, NAMES) == [text]


def test_directives_and_texts_keep_their_order() -> None:
    steps = parse("one [text words=2] two [nope] [tool a=[1]] [custom]", NAMES)
    assert steps == [
        "one",
        Directive("text", {"words": 2}),
        "two [nope]",
        Directive("tool", {"a": [1]}),
        Directive("custom", {}),
    ]


@given(st.text(alphabet='[]tool ex="\\{}1', max_size=60))
def test_parsing_any_prompt_raises_nothing(prompt: str) -> None:
    parse(prompt, NAMES)


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), st.text() | st.integers() | st.booleans()))
def test_any_json_value_is_parsed_unchanged(options: dict[str, object]) -> None:
    written = " ".join(f"{name}={json.dumps(value)}" for name, value in options.items())
    assert parse(f"[tool {written}]", NAMES) == [Directive("tool", options)]


TYPES = ["ready", "text", "message.end", "call.start", "result.end", "plan", "permission", "question", "turn.end", "x"]


@given(
    st.binary()
    | st.fixed_dictionaries(
        {"type": st.sampled_from(TYPES)},
        optional={
            name: st.text() | st.integers() | st.lists(st.none()) for name in ("id", "text", "questions", "stop")
        },
    ).map(lambda frame: json.dumps(frame).encode())
)
def test_decoding_any_line_raises_nothing(body: bytes) -> None:
    assert decode(Line(body)).frame.body == body


def test_a_line_nested_too_deeply_is_unparsed() -> None:
    decoded = decode(Line(b'{"type":"permission","input":' + b"[" * 100_000))
    assert isinstance(decoded.drafts[0], Unparsed)
    assert decoded.frame.form == "text"


def test_a_cut_line_is_unparsed_with_its_original_length() -> None:
    decoded = decode(Line(b'{"type":"text","id":"m","te', 70_000_000))
    [draft] = decoded.drafts
    assert isinstance(draft, Unparsed)
    assert "70000000 bytes" in draft.error
