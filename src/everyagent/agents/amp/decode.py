"""Decodes Amp's lines into drafts. No I/O; one decoder holds the state of one process's conversation."""

import secrets
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec

from everyagent.agents.adapter import DecodedFrame, Draft, Echo, Frame, NativeSession
from everyagent.agents.amp import failures, items, results, wire
from everyagent.agents.amp.results import AmpCall
from everyagent.agents.item_keys import ItemKeys
from everyagent.agents.unknown_items import unknown_item, value_at
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.events import Error, ModelResponded, StopReason, TurnEnded, TurnStarted
from everyagent.model.usage import Usage, tokens
from everyagent.runtime.framing import Line

Handler: TypeAlias = Callable[["AmpDecoder", bytes], Sequence[Draft]]

LOCATION = "agents/amp/decode.py"
#: Amp prints this if it has no key; then it waits for a person, without end.
_NO_KEY = b"No API key found."
#: Begins the secret in the login link that it prints then.
_SECRET = b"authToken="

_heads = msgspec.json.Decoder(wire.AmpHead)
_inits = msgspec.json.Decoder(wire.AmpInit)
_messages = msgspec.json.Decoder(wire.AmpMessageLine)
_results = msgspec.json.Decoder(wire.AmpResult)


class AmpDecoder:
    """`finished`: the result has arrived, so the process ends. `wants_login`: Amp has no key.

    `turns_ended` counts the turns that ended.
    """

    def __init__(self) -> None:
        self.finished = False
        self.wants_login = False
        self.thread: str | None = None
        self._calls: dict[str, AmpCall] = {}
        self._keys = ItemKeys()
        self.in_turn = False
        self.turns_ended = 0
        self._sent: list[list[str]] = []  # messages that Amp has not taken up yet
        self._usage = Usage()
        self._key = secrets.token_hex(4)
        self._messages = 0

    # -- calls by the driver ----------------------------------------------------------------------------------

    def prompted(self, words: list[str]) -> None:
        """A message was sent. Amp echoes its words when it begins to work on it."""
        self.in_turn = True
        self._sent.append(words)

    def call_for(self, tool: str, input: object) -> AmpCall | None:
        """The call that a permission hook is about; the hook knows only the tool's name and its input."""
        for call in self._calls.values():
            same = call.name == tool or {call.name, tool} <= results.SHELLS
            if same and not call.asked and msgspec.json.decode(call.input) == input:
                return call
        return None

    # -- frames ---------------------------------------------------------------------------------------------

    def decode(self, line: Line) -> DecodedFrame:
        """Never raises: a line that it does not understand becomes an `Unparsed`, with the line as its frame."""
        body = line.body
        if line.cut:
            return unparsed(body, f"a line of {line.cut} bytes was cut after {len(body)}", LOCATION)
        try:
            if not body.isascii():
                body.decode()  # msgspec does not look into what it skips
            head = _heads.decode(body)
            handler = MAPPED.get(f"{head.type}/{head.subtype}" if head.subtype else head.type)
            if handler:
                return DecodedFrame(Frame("from_agent", body), handler(self, body))
        except BROKEN as problem:
            return self._login(body) or unparsed(body, str(problem), LOCATION)
        except Exception as fault:  # noqa: BLE001 - one frame must not cost the agent
            return undecodable(body, fault, LOCATION)
        return unparsed(body, f"unknown frame {head.type}/{head.subtype}", LOCATION)

    def init(self, body: bytes) -> Sequence[Draft]:
        self.thread = _inits.decode(body).session_id
        return (NativeSession(self.thread),)

    def assistant(self, body: bytes) -> Sequence[Draft]:
        frame = _messages.decode(body)
        drafts = list(self._turn())
        task, message = self._task(frame.parent_tool_use_id), None
        parts = items.parts(frame.message.content)
        if parts or any(block.type not in items.SPOKEN for block in frame.message.content):
            message = self._next_key()  # without text, too: calls belong to the message that made them
            drafts += items.whole(items.message(message, "assistant", parts, task))
        for place, block in enumerate(frame.message.content):
            if block.type == "tool_use":
                key = self._keys.begin(block.id)
                self._calls[block.id] = AmpCall(key, block.name, block.input, message, task)
                drafts += items.whole(items.call(key, block, message, task))
            elif block.type not in items.SPOKEN:
                drafts += self._unknown(body, place, block, message, task)
        if frame.message.usage:
            used = _usage(frame.message.usage)
            self._usage += used
            drafts.append(ModelResponded(usage=used, subagent=task))
        return [*drafts, *self._stopped(frame.message.stop_reason)]

    def user(self, body: bytes) -> Sequence[Draft]:
        frame = _messages.decode(body)
        drafts: list[Draft] = []
        words: list[str] = []
        for place, block in enumerate(frame.message.content):
            match block.type:
                case "tool_result":
                    drafts += items.whole(
                        results.result(
                            self._keys.of(block.tool_use_id), block, self._calls.pop(block.tool_use_id, None)
                        )
                    )
                case "text":
                    words.append(block.text)
                case _:
                    drafts += self._unknown(body, place, block, None, self._task(frame.parent_tool_use_id))
        if words:
            drafts += self._echo(words, self._task(frame.parent_tool_use_id))
        return drafts

    def result(self, body: bytes) -> Sequence[Draft]:
        """The last line of a process: its input was closed, or the turn failed or was cancelled."""
        frame = _results.decode(body)
        self.finished = True
        if not self.in_turn:
            return () if not frame.is_error else (failures.error_of(frame.error),)
        if frame.error.startswith(failures.CANCELLED):
            return (self._ended("interrupted"),)
        if frame.is_error:
            error = failures.error_of(frame.error)
            return (error, self._ended("error", error))
        return (self._ended("end_turn"),)

    # -- turns -----------------------------------------------------------------------------------------------------

    def _turn(self) -> Iterator[Draft]:
        """Begin a turn if none runs: someone may have written into the thread on Amp's web pages."""
        if not self.in_turn:
            self.in_turn = True
            yield TurnStarted(turn_id="", input_item_ids=[])

    def _echo(self, words: list[str], subagent: str | None) -> Sequence[Draft]:
        """The session's own messages are items already, so their echo only starts the turn; others become items."""
        if self._sent:
            ours = next((sent for sent in self._sent if sent[-1] in words), self._sent[0])
            self._sent.remove(ours)
            return (TurnStarted(turn_id="", input_item_ids=[]), Echo(None))
        blocks = [wire.AmpBlock(type="text", text=text) for text in words]
        return [*self._turn(), *items.whole(items.message(self._next_key(), "user", items.parts(blocks), subagent))]

    def _stopped(self, reason: str | None) -> Sequence[Draft]:
        """A turn ends with the agent's last message, unless a message that was sent still waits to be echoed.

        A process that continues a thread may first report the end of a message in which an earlier one was killed.
        """
        match reason:
            case "tool_use":
                return ()
            case None:
                return (self._ended("interrupted"),)
            case _ if self._sent:
                return ()
            case _:
                return (self._ended("end_turn"),)

    def _ended(self, reason: StopReason, error: Error | None = None) -> TurnEnded:
        usage, self._usage = self._usage, Usage()
        self.in_turn = False
        self.turns_ended += 1
        self._calls.clear()
        self._keys.end_turn()
        used = usage if usage != Usage() else None
        return TurnEnded(turn_id="", stop_reason=reason, usage=used, error=error.message if error else None)

    def _task(self, parent: str | None) -> str | None:
        """The key of the call that started a sub-agent; None for the agent itself."""
        return self._keys.latest(parent) if parent else None

    def _next_key(self) -> str:
        self._messages += 1
        return f"{self._key} {self._messages}"

    def _unknown(
        self, body: bytes, place: int, block: wire.AmpBlock, message: str | None, task: str | None
    ) -> Sequence[Draft]:
        """A block of a type that the decoder does not know."""
        json = value_at(body, "message", "content", place)
        native = block.id or None
        return items.whole(
            unknown_item(self._next_key(), block.type, json, native=native, subagent=task, parent=message)
        )

    def _login(self, body: bytes) -> DecodedFrame | None:
        if not self.wants_login and not body.startswith(_NO_KEY):
            return None
        self.wants_login = True
        shown, secret, _ = body.partition(_SECRET)
        return DecodedFrame(Frame("from_agent", shown + secret, "text"), ())


def _usage(usage: wire.AmpUsage) -> Usage:
    return Usage(
        input_tokens=tokens(usage.input_tokens),
        output_tokens=tokens(usage.output_tokens),
        cache_read_tokens=tokens(usage.cache_read_input_tokens),
        cache_write_tokens=tokens(usage.cache_creation_input_tokens),
    )


#: Every frame. `docs/agents/amp.md` documents each.
MAPPED: dict[str, Handler] = {
    "system/init": AmpDecoder.init,
    "assistant": AmpDecoder.assistant,
    "user": AmpDecoder.user,
    "result/success": AmpDecoder.result,
    "result/error_during_execution": AmpDecoder.result,
}
