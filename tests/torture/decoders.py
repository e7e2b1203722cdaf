"""Every adapter's decoder behind one function, its recorded transcripts, and what must hold for any input."""

import itertools
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TypeAlias
from unittest.mock import patch

import msgspec

from everyagent.agents.acp import profiles
from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.adapter import DecodedFrame
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.protocol import rpc
from everyagent.agents.mock import decode as mock
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.protocol import native_event
from everyagent.logs import Logger
from everyagent.runtime.framing import LINE_LIMIT, Line
from tests.agents.sequenced_session import SequencedSession, violations

GOLDEN = Path(__file__).parents[1] / "golden"

Decode: TypeAlias = Callable[[Line], DecodedFrame]


def _codex() -> Decode:
    decoder = CodexDecoder("/workspace")
    return lambda line: decoder.decode(rpc.read(line))


def _opencode() -> Decode:
    decoder = OpencodeDecoder()
    return lambda line: decoder.decode(native_event.read(line.body, line.cut))


class _Answer(msgspec.Struct):
    id: int
    method: None = None


def _acp(agent: str) -> Decode:
    """In a turn at all times. An answer is the prompt's if it looks like one, else that of `session/new`."""
    decoder = AcpDecoder(profiles.load(agent))
    prompts = itertools.count(10_000)

    def decode(line: Line) -> DecodedFrame:
        with suppress(msgspec.DecodeError, RecursionError, UnicodeDecodeError):
            id = msgspec.json.decode(line.body, type=_Answer).id
            ends = b'"stopReason"' in line.body or b'"error"' in line.body
            decoder.sent[id] = "session/prompt" if ends else "session/new"
            if ends:
                decoder.prompted(id, "")
        if decoder.prompt is None:
            decoder.prompted(next(prompts), "")
        return decoder.decode(line)

    return decode


#: Agents of the Agent Client Protocol, whose decoders are in a turn at all times here.
ALWAYS_IN_TURN = ("copilot", "gemini", "qwen", "kimi", "goose")
#: Makes a decoder without any history.
DECODERS: dict[str, Callable[[], Decode]] = {
    "amp": lambda: AmpDecoder().decode,
    "claude": lambda: ClaudeDecoder().decode,
    "codex": _codex,
    "mock": lambda: mock.decode,
    "opencode": _opencode,
    **{agent: partial(_acp, agent) for agent in ALWAYS_IN_TURN},
}

_MOCK_LINES = (
    b'{"type":"ready","session_id":"one"}',
    b'{"type":"message.start","id":"m"}',
    b'{"type":"text","id":"m","index":0,"text":"hi"}',
    b'{"type":"message.end","id":"m","content":[{"type":"text","text":"hi"}]}',
    b'{"type":"turn.end"}',
)


class _Exchange(msgspec.Struct, frozen=True):
    dir: str
    msg: msgspec.Raw = msgspec.Raw(b"null")


def transcripts(agent: str) -> list[list[bytes]]:
    """The lines of each recorded conversation."""
    if agent == "mock":
        return [list(_MOCK_LINES)]
    decoder = msgspec.json.Decoder(_Exchange)
    found: list[list[bytes]] = []
    for file in sorted((GOLDEN / agent).glob("*/frames.jsonl")):
        exchanges = [decoder.decode(line) for line in file.read_bytes().split(b"\n") if line]
        found.append([bytes(each.msg) for each in exchanges if each.dir == "out"])
    return [lines for lines in found if lines]


class DecoderFault(Exception):
    """A decoder raised something else than a complaint about its input."""


@contextmanager
def no_faults() -> Generator[None]:
    """Decoders turn their own faults into `agent.unparsed`; here they are raised."""

    def raised(_: Logger, event: str, **facts: object) -> None:
        raise DecoderFault(f"{event}: {facts}")

    with patch.object(Logger, "exception", raised):
        yield


def check(agent: str, bodies: Iterable[bytes]) -> None:
    """Decodes lines. Every line is kept whole, and the events keep the order rules."""
    decode, session = DECODERS[agent](), SequencedSession()
    session.prompted()
    for body in bodies:
        line = Line(body[:LINE_LIMIT], len(body) if len(body) > LINE_LIMIT else 0)
        decoded = decode(line)
        assert decoded.frame is not None
        assert decoded.frame.body == line.body, "the frame is not the line that came"
        for draft in decoded.drafts:
            session.draft(draft)
    session.cut()
    found = violations(session.events)
    assert found == [], found
