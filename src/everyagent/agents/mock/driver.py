"""Drives one mock process."""

from everyagent.agents.adapter import Change, DecodedFrame, Launch, Listener, Prompt
from everyagent.agents.line_conversation import LineConversation, LineProtocol, ProcessEnd
from everyagent.agents.mock import encode
from everyagent.agents.mock.decode import decode
from everyagent.model.asks import Answer
from everyagent.model.events import ItemCompleted
from everyagent.model.items import Item
from everyagent.model.parts import ToolResultPart
from everyagent.runtime.exit import Exit
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process

#: The program's exit code if it does not know the session it should resume.
UNKNOWN_SESSION = 4


class MockConversation:
    """A running session of the mock agent. `run` needs a task."""

    def __init__(self, process: Process, listener: Listener) -> None:
        self._helped: set[str] = set()  # calls that sub-agents work for
        self._lines = LineConversation(process, listener, LineProtocol("The mock agent", self._decode, _ended))
        self.run = self._lines.run

    async def begin(self, launch: Launch) -> None:
        """Send the first frame. If that fails, no death is reported."""
        await self._lines.send(encode.start(launch))

    async def prompt(self, prompt: Prompt) -> None:
        await self._lines.send_or_die(encode.prompt(prompt))

    async def steer(self, prompt: Prompt) -> None:
        await self._lines.send(encode.steer(prompt))

    async def answer(self, ask_key: str, answer: Answer) -> None:
        await self._lines.send(encode.answer(ask_key, answer))

    async def interrupt(self) -> None:
        await self._lines.send(encode.interrupt())

    async def interrupt_subagent(self, call: str) -> bool:
        if call in self._helped:
            await self._lines.send(encode.interrupt_subagent(call))
        return call in self._helped

    async def change(self, change: Change) -> bool:
        await self._lines.send(encode.change(change))
        return True

    async def close(self, *, force: bool = False) -> None:
        await self._lines.close(force=force)

    def _decode(self, line: Line) -> DecodedFrame:
        decoded = decode(line)
        for draft in decoded.drafts:
            if type(draft) is ItemCompleted and draft.item.name == "task":
                self._follow_subagent(draft.item)
        return decoded

    def _follow_subagent(self, item: Item) -> None:
        match item:
            case Item(kind="tool_call", item_id=call):
                self._helped.add(call)
            case Item(kind="tool_result", content=[ToolResultPart(call_id=call), *_]):
                self._helped.discard(call)
            case _:
                return


def _ended(exit: Exit | None) -> ProcessEnd:
    return ProcessEnd(history_lost=exit is not None and exit.code == UNKNOWN_SESSION)
