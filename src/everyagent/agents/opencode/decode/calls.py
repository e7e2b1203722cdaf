"""Decodes updates of tool calls, of a session and its sub-agents, into what is new in each. Remembers open calls."""

from collections.abc import Iterator, Mapping
from typing import cast

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Draft, Synthetic
from everyagent.agents.memory import remember
from everyagent.agents.opencode.decode import tools
from everyagent.agents.opencode.decode.tools import CalledTool
from everyagent.agents.opencode.protocol.wire import OpencodePart, ToolRef
from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item
from everyagent.model.parts import Object, ToolResultPart

#: Calls that have returned and are remembered, to recognise a repetition.
REMEMBERED = 16_384


class OpencodeCall:
    """A call that has not returned. `asked`: its arguments are complete; `output` is its output so far."""

    __slots__ = ("asked", "output", "parent", "part", "result_begun", "subagent", "tool")

    def __init__(self, part: OpencodePart, tool: CalledTool, parent: str, subagent: str | None) -> None:
        self.part = part
        self.tool = tool
        self.parent = parent
        self.subagent = subagent
        self.asked = False
        self.result_begun = False
        self.output = ""

    @property
    def input(self) -> Object:
        """Empty if the model's input is incomplete or no object."""
        given = msgspec.json.decode(self.part.state.input)
        return cast("Object", given) if isinstance(given, dict) else {}


class OpencodeCalls:
    """`servers` maps the prefixes of MCP tools' names to the names of their servers."""

    def __init__(self, servers: Mapping[str, str]) -> None:
        self._servers = dict(servers)
        self._open: dict[str, OpencodeCall] = {}
        self._returned: dict[str, None] = {}

    def update(self, part: OpencodePart, parent: str, subagent: str | None) -> Iterator[Draft]:
        """Each update holds the whole call; only what is new is drafted."""
        if part.id in self._returned:
            return
        call = self._open.get(part.id)
        if call is None:
            tool = tools.named(tools.called(part), self._servers)
            call = self._open[part.id] = OpencodeCall(part, tool, parent, subagent)
            yield ItemStarted(item=tools.call(part, tool, parent, subagent, complete=False))
        call.part = part
        if part.state.status != "pending" and not call.asked:
            call.asked = True
            yield ItemCompleted(item=tools.call(part, call.tool, parent, call.subagent, complete=True))
        if part.state.status == "running":
            yield from self._grown(call)
        elif tools.returned(part):
            self._forget(part.id)
            yield ItemCompleted(item=tools.result(part, call.tool, call.parent, call.subagent))

    def _grown(self, call: OpencodeCall) -> Iterator[Draft]:
        output = tools.streamed(call.part)
        new = tools.growth(call.output, output)
        if new:
            call.output = output
            yield from _began(call)
            key, native = tools.result_key(call.part.id), call.part.id
            yield ItemDelta(item_id=key, native_item_id=native, delta=new, content_index=0, kind="tool_output")

    def is_open(self, key: str) -> bool:
        return key in self._open

    def find(self, ref: ToolRef | None) -> OpencodeCall | None:
        """The call that an ask is about."""
        if ref is None:
            return None
        calls = self._open.values()
        return next((call for call in calls if call.part.call == ref.call and call.part.message == ref.message), None)

    def by_id(self, session: str, call: str) -> OpencodeCall | None:
        """The call that OpenCode is about to carry out."""
        calls = self._open.values()
        return next((each for each in calls if each.part.call == call and each.part.session in ("", session)), None)

    def about(self, directory: str, file: str) -> str | None:
        """The key of the call that is busy with this file."""
        return next((key for key, call in self._open.items() if tools.touches(call.part, directory, file)), None)

    def cut(self, why: str) -> Iterator[Draft]:
        """The turn is over: calls that OpenCode left open are closed."""
        for key, call in list(self._open.items()):
            self._forget(key)
            if not call.asked:
                asked = tools.call(call.part, call.tool, call.parent, call.subagent, complete=True)
                yield Synthetic(ItemCompleted(item=asked))
            yield from _began(call)
            yield Synthetic(ItemCompleted(item=_failed(call, why)))

    def _forget(self, key: str) -> None:
        self._open.pop(key, None)
        remember(self._returned, key, None, REMEMBERED)


def _began(call: OpencodeCall) -> Iterator[Synthetic]:
    """The start of the result, which OpenCode does not report."""
    if not call.result_begun:
        call.result_begun = True
        yield Synthetic(ItemStarted(item=tools.begun(call.part, call.tool, call.parent, call.subagent)))


def _failed(call: OpencodeCall, why: str) -> Item:
    begun = tools.begun(call.part, call.tool, call.parent, call.subagent)
    part = ToolResultPart(call_id=call.part.call or call.part.id, output=call.output, is_error=True)
    return replace(begun, status="failed", content=[part], error=why)
