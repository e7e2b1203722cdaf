"""The tool calls of a session and its sub-agents: what is new in each update of a call. Remembers what is open."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from everyagent.agents.adapter import Draft, Synthetic
from everyagent.agents.opencode.decode import tools
from everyagent.agents.opencode.decode.tools import Named
from everyagent.agents.opencode.protocol.wire import Part, ToolRef
from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item
from everyagent.model.parts import ToolResultPart

#: So many calls that have returned are remembered, to know a repetition.
REMEMBERED = 16_384


class Call:
    """A call that has not returned. `asked`: all of what it is called with is told; `output`: what came out so far."""

    __slots__ = ("asked", "output", "parent", "part", "result_begun", "subagent", "tool")

    def __init__(self, part: Part, tool: Named, parent: str, subagent: str | None) -> None:
        self.part = part
        self.tool = tool
        self.parent = parent
        self.subagent = subagent
        self.asked = False
        self.result_begun = False
        self.output = ""


class Calls:
    """`servers` are the session's MCP servers: the beginning of their tools' names -> their own name."""

    def __init__(self, servers: Mapping[str, str]) -> None:
        self._servers = dict(servers)
        self._open: dict[str, Call] = {}
        self._returned: dict[str, None] = {}

    def update(self, part: Part, parent: str, subagent: str | None) -> Iterator[Draft]:
        """OpenCode tells all of a call each time; what was told before is left out."""
        if part.id in self._returned:
            return
        call = self._open.get(part.id)
        if call is None:
            tool = tools.named(tools.called(part), self._servers)
            call = self._open[part.id] = Call(part, tool, parent, subagent)
            yield ItemStarted(item=tools.call(part, tool, parent, subagent, complete=False))
        call.part = part
        if part.state.status != "pending" and not call.asked:
            call.asked = True
            yield ItemCompleted(item=tools.call(part, call.tool, parent, call.subagent, complete=True))
        if part.state.status == "running":
            yield from self._grown(call)
        elif tools.returned(part):
            self._forget(part.id)
            yield from _began(call)
            yield ItemCompleted(item=tools.result(part, call.tool, call.parent, call.subagent))

    def _grown(self, call: Call) -> Iterator[Draft]:
        output = tools.streamed(call.part)
        new = tools.growth(call.output, output)
        if new:
            call.output = output
            yield from _began(call)
            key, native = tools.result_key(call.part.id), call.part.id
            yield ItemDelta(item_id=key, native_item_id=native, delta=new, content_index=0, kind="tool_output")

    def is_open(self, key: str) -> bool:
        return key in self._open

    def find(self, ref: ToolRef | None) -> Call | None:
        """The call that an ask is about."""
        if ref is None:
            return None
        calls = self._open.values()
        return next((call for call in calls if call.part.call == ref.call and call.part.message == ref.message), None)

    def by_id(self, session: str, call: str) -> Call | None:
        """The call that OpenCode is about to carry out."""
        calls = self._open.values()
        return next((each for each in calls if each.part.call == call and each.part.session in ("", session)), None)

    def about(self, directory: str, file: str) -> str | None:
        """The key of the call that is busy with this file."""
        return next((key for key, call in self._open.items() if tools.touches(call.part, directory, file)), None)

    def cut(self, why: str) -> Iterator[Draft]:
        """The turn is over: what OpenCode left open gets its end."""
        for key, call in list(self._open.items()):
            self._forget(key)
            if not call.asked:
                asked = tools.call(call.part, call.tool, call.parent, call.subagent, complete=True)
                yield Synthetic(ItemCompleted(item=asked))
            for begun in _began(call):
                yield Synthetic(begun)
            yield Synthetic(ItemCompleted(item=_failed(call, why)))

    def _forget(self, key: str) -> None:
        self._open.pop(key, None)
        self._returned[key] = None
        if len(self._returned) > REMEMBERED:
            del self._returned[next(iter(self._returned))]


def _began(call: Call) -> Iterator[ItemStarted]:
    if not call.result_begun:
        call.result_begun = True
        yield ItemStarted(item=tools.begun(call.part, call.tool, call.parent, call.subagent))


def _failed(call: Call, why: str) -> Item:
    begun = tools.begun(call.part, call.tool, call.parent, call.subagent)
    part = ToolResultPart(call_id=call.part.id, output=call.output, is_error=True)
    return replace(begun, status="failed", content=[part], error=why)
