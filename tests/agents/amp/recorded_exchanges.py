"""Recorded exchanges with the real program, played through decoder, order and rules."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from everyagent.agents.adapter import Death, NativeSession
from everyagent.agents.amp import failures
from everyagent.agents.amp.decode import Decoder
from everyagent.model.events import Envelope, Event, SessionStarted, StderrOutput
from everyagent.model.items import Item
from everyagent.model.parts import TextPart
from everyagent.runtime.framing import Line
from everyagent.sessions.machine import endings
from everyagent.sessions.machine.sequencer import Emission, Sequencer

GOLDEN = Path(__file__).parents[2] / "golden" / "amp"


def cases() -> list[str]:
    return sorted(folder.name for folder in GOLDEN.iterdir())


class Exchange(msgspec.Struct, frozen=True):
    """`new` is a process and the prompt in its arguments, `in` and `out` its lines, `err` its stderr, `exit` its end.

    A line that is no JSON is a string.
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
    """Plays a case as a session would."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._order = Sequencer(self._id)
        self._decoder = Decoder()
        self._stderr: list[str] = []
        self._sequence = 0
        self._native: str | None = None

    def _id(self, prefix: str) -> str:
        self._counts[prefix] = self._counts.get(prefix, 0) + 1
        return f"{prefix}{self._counts[prefix]:06}"

    def play(self, case: str) -> Iterator[Event]:
        yield from self._envelopes([Emission(SessionStarted(), True)])
        for exchange in exchanges(case):
            match exchange.dir:
                case "new":
                    self._decoder, self._stderr = Decoder(), []
                    if exchange.body != b"null":
                        yield from self._prompted(exchange.body.decode())
                case "in":
                    yield from self._prompted(exchange.body.decode())
                case "out" if exchange.body:
                    yield from self._heard(exchange.body)
                case "err":
                    self._stderr.append(exchange.body.decode())
                case "exit" if not self._decoder.finished:
                    yield from self._died(msgspec.json.decode(exchange.msg, type=int))
                case _:
                    continue

    def _prompted(self, words: str) -> Iterator[Event]:
        """A prompt while a turn runs is steered into it."""
        item = Item(
            item_id=self._id("itm_"),
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="user",
            status="completed",
            content=[TextPart(text="(a prompt)")],
        )
        running = self._order.turn_id is not None
        self._decoder.prompted([_words(words)])
        yield from self._envelopes(self._order.say(item) if running else self._order.start_turn([item]))

    def _heard(self, body: bytes) -> Iterator[Event]:
        for draft in self._decoder.decode(Line(body)).drafts:
            if isinstance(draft, NativeSession):
                self._native = draft.id
            else:
                assert not hasattr(draft, "data")
                yield from self._envelopes(self._order.apply(draft))  # pyright: ignore[reportArgumentType]

    def _died(self, code: int) -> Iterator[Event]:
        words = "\n".join(self._stderr)
        death = Death(
            expected=False,
            exit_code=code,
            stderr=StderrOutput(truncated=False, head=words) if words else None,
            history_lost=failures.history_lost(words),
            code="auth" if self._decoder.wants_login else failures.code_of(words),
        )
        if death.history_lost:
            yield from self._envelopes([Emission(endings.history_lost(), True)])
        yield from self._envelopes(endings.death(self._order, death, cancelled=False))

    def _envelopes(self, emissions: Iterable[Emission]) -> Iterator[Event]:
        for data, synthetic in emissions:
            self._sequence += 1
            yield Envelope(
                event_id=f"evt_{self._sequence:06}",
                sequence=self._sequence,
                time="2026-01-01T00:00:00.000000Z",
                session_id="s",
                native_session_id=self._native,
                source="daemon" if synthetic else "agent",
                synthetic=synthetic,
                type=data.type,
                data=data,
            )


class _Block(msgspec.Struct):
    text: str = ""


class _Inner(msgspec.Struct):
    content: list[_Block] | str = []


class _Told(msgspec.Struct):
    message: _Inner


def _words(line: str) -> str:
    """Of a line for stdin, or of a prompt in the arguments."""
    try:
        content = msgspec.json.decode(line, type=_Told).message.content
    except msgspec.MsgspecError:
        return line
    return content if isinstance(content, str) else "".join(block.text for block in content)
