"""Terminal sequences in what agents and clients send never reach the terminal of a person who uses the CLI."""

from pathlib import Path

import msgspec
import pytest
from command_line import Daemon, environment
from pseudo_terminal import PseudoTerminal

from everyagent.client import Client
from everyagent.terminal_text import visible, visible_json

#: Title, clear, clipboard, reset, C1 forms of the same, cursor, backspace, bell, direction marks, tags.
CORPUS = [
    "\x1b]0;owned\x07",
    "\x1b[2J\x1b[H",
    "\x1b]52;c;bWFsaWNl\x07",
    "\x1bc",
    "\x9b2J",
    "\x9d0;owned\x9c",
    "\x1b[1A\x1b[2K",
    "\x1bP+q\x1b\\",
    "safe\b\b\b\bevil",
    "\u202eevil\u202c",
    "\u2066evil\u2069",
    "\u200f\u061c",
    "\U000e0041",
    "\x7f",
]
HOSTILE = " ".join(CORPUS)
RAW = [
    *("\x1b]", "\x1bP", "\x1bc", "\x1b[2J", "\x1b[1A", "\x9b", "\x9c", "\x9d", "\x07", "\b", "\x7f"),
    *("\u202e", "\u202c", "\u2066", "\u2069", "\u200f", "\u061c", "\U000e0041"),
]


@pytest.fixture(scope="module")
def hostile(daemon: Daemon) -> str:
    with Client(daemon.url, daemon.token) as client:
        session = client.create(agent="mock", title=f"title {HOSTILE}", metadata={"note": HOSTILE}).session_id
        client.run_turn(session, f"findable {HOSTILE}")
        client.run_turn(session, f'[error code=overloaded message="{HOSTILE}"]')
        for event in client.stream_turn(session, f'[ask command="echo {HOSTILE}"]'):
            if event.type == "permission.requested":
                break
        return session


@pytest.mark.parametrize(
    "words",
    [
        ("sessions", "list"),
        ("sessions", "list", "--json"),
        ("sessions", "show", "SESSION"),
        ("sessions", "tail", "SESSION"),
        ("sessions", "tail", "SESSION", "--json"),
        ("sessions", "export", "SESSION"),
        ("search", "findable"),
        ("sessions", "show", f"no-such {HOSTILE}"),
        ("run", "mock", f"hello {HOSTILE}"),
        ("run", "mock", f"again {HOSTILE}", "--json"),
    ],
    ids=lambda words: "-".join(words[:2])[:20],
)
def test_no_sequence_of_an_agent_reaches_the_terminal(daemon: Daemon, hostile: str, words: tuple[str, ...]) -> None:
    settings = environment(daemon.data_dir) | {"NO_COLOR": "1", "TERM": "xterm", "COLUMNS": "2000"}
    with PseudoTerminal(settings) as terminal:
        terminal.start(*(hostile if word == "SESSION" else word for word in words))
        terminal.end()
    assert "owned" in terminal.seen or "no-such" in terminal.seen, terminal.seen
    assert [sequence for sequence in RAW if sequence in terminal.seen] == []


def test_serve_prints_the_token_to_a_terminal(tmp_path: Path) -> None:
    with PseudoTerminal(environment(tmp_path / "data")) as terminal:
        terminal.start("serve", "--port", "0")
        terminal.wait_for("/ui/#token=")


@pytest.mark.parametrize("sequence", CORPUS)
def test_text_is_made_visible_and_json_keeps_its_meaning(sequence: str) -> None:
    assert not any(raw in visible(sequence) for raw in RAW)
    assert visible("a\tb\r\nc\nd – é 😀") == "a\tb\nc\nd – é 😀"
    encoded = visible_json(msgspec.json.encode({"a": sequence}).decode())
    assert not any(raw in encoded for raw in RAW)
    assert msgspec.json.decode(encoded) == {"a": sequence}
