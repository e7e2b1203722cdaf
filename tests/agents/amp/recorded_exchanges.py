"""Recorded exchanges with the real Amp, played through the decoder and the sequencer."""

from pathlib import Path

import msgspec
from tests.agents.sequenced_session import SequencedSession

from everyagent.agents.adapter import Death
from everyagent.agents.amp import failures
from everyagent.agents.amp.decode import AmpDecoder
from everyagent.model.events import Event, StderrOutput
from everyagent.runtime.framing import Line
from everyagent.sessions.machine import endings
from everyagent.sessions.machine.sequencer import Emission

GOLDEN = Path(__file__).parents[2] / "golden" / "amp"


def cases() -> list[str]:
    return sorted(folder.name for folder in GOLDEN.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`new` is a process and the prompt in its arguments, `in` and `out` its lines, `err` its stderr, `exit` its end.

    A line that is not JSON is a string.
    """

    dir: str
    msg: msgspec.Raw

    @property
    def body(self) -> bytes:
        raw = bytes(self.msg)
        return msgspec.json.decode(raw, type=str).encode() if raw.startswith(b'"') else raw


_exchanges = msgspec.json.Decoder(Exchange)


def exchanges(case: str) -> list[Exchange]:
    lines = (GOLDEN / case / "frames.jsonl").read_bytes().split(b"\n")
    return [_exchanges.decode(line) for line in lines if line]


def lines_of(case: str) -> list[Line]:
    return [Line(exchange.body) for exchange in exchanges(case) if exchange.dir == "out" and exchange.body]


class Player:
    """Replays a case as a session would."""

    def __init__(self) -> None:
        self._session = SequencedSession(echo=True)
        self._decoder = AmpDecoder()
        self._stderr: list[str] = []

    def play(self, case: str) -> list[Event]:
        for exchange in exchanges(case):
            match exchange.dir:
                case "new":
                    self._decoder, self._stderr = AmpDecoder(), []
                    if exchange.body != b"null":
                        self._prompted(exchange.body.decode())
                case "in":
                    self._prompted(exchange.body.decode())
                case "out" if exchange.body:
                    for draft in self._decoder.decode(Line(exchange.body)).drafts:
                        self._session.draft(draft)
                case "err":
                    self._stderr.append(exchange.body.decode())
                case "exit" if not self._decoder.finished:
                    self._died(msgspec.json.decode(exchange.msg, type=int))
                case _:
                    continue
        return self._session.events

    def _prompted(self, words: str) -> None:
        self._decoder.prompted([_words(words)])
        self._session.prompted()

    def _died(self, code: int) -> None:
        words = "\n".join(self._stderr)
        death = Death(
            expected=False,
            exit_code=code,
            stderr=StderrOutput(truncated=False, head=words) if words else None,
            history_lost=failures.history_lost(words),
            code="auth" if self._decoder.wants_login else failures.code_of(words),
        )
        if death.history_lost:
            self._session.emit([Emission(endings.history_lost(), True)])
        self._session.emit(endings.death(self._session.order, death, None))


class _Block(msgspec.Struct):
    text: str = ""


class _Inner(msgspec.Struct):
    content: list[_Block] | str = []


class _SentLine(msgspec.Struct):
    message: _Inner


def _words(line: str) -> str:
    """The text of a line for stdin, or of a prompt in the arguments."""
    try:
        content = msgspec.json.decode(line, type=_SentLine).message.content
    except msgspec.MsgspecError:
        return line
    return content if isinstance(content, str) else "".join(block.text for block in content)
