"""Calls of custom tools in an agent's message: asked together, also if the agent makes them one after the other. Pure.

A message's calls are asked when the agent makes the first of them, or asks for anything else.
"""

from collections.abc import Collection, Iterator

import msgspec
from msgspec import Struct

from everyagent.log.log import SessionRecord
from everyagent.model.events import ToolRequested
from everyagent.model.ids import new_id
from everyagent.model.items import Item
from everyagent.model.parts import Json, ToolCallPart
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.tools import TOOLS_SERVER
from everyagent.sessions.launch.config import config_of

#: So many calls without a result are remembered.
REMEMBERED = 1000


class AnnouncedCall(Struct, kw_only=True):
    """`message` is the item of the message that has the call. `key` names the ask, `ask_id` is its id for clients.

    `made`: the agent has made the call.
    """

    key: str
    name: str
    input: Json
    item_id: str | None = None
    message: str | None = None
    ask_id: str | None = None
    made: bool = False

    def request(self) -> ToolRequested:
        return ToolRequested(
            tool_id=self.key, name=self.name, input=self.input, status="requested", item_id=self.item_id
        )


class AnnouncedCalls:
    """The calls of a turn that have no result yet, by their native ids."""

    __slots__ = ("_calls", "_open", "_policies", "_tools", "_unseen")

    def __init__(self, tools: frozenset[str] = frozenset(), policies: ToolPolicies = UNRESTRICTED) -> None:
        self._tools = tools
        self._policies = policies
        self._calls: dict[str, AnnouncedCall] = {}
        self._open: set[str | None] = set()  # messages whose calls are asked
        self._unseen: dict[str, AnnouncedCall] = {}  # made before their items came, by the keys of their asks

    def __bool__(self) -> bool:
        """Whether the session has custom tools."""
        return bool(self._tools)

    def add(self, item: Item, part: ToolCallPart) -> None:
        """Takes a call of a message."""
        if part.mcp_server != TOOLS_SERVER or part.name not in self._tools or len(self._calls) >= REMEMBERED:
            return
        try:
            given: Json = msgspec.json.decode(part.arguments)
        except msgspec.DecodeError:
            return
        unseen = self._unseen.items()
        made = next((key for key, call in unseen if (call.name, call.input) == (part.name, given)), None)
        if made:
            self._open.add(item.parent_id)
        call = self._unseen.pop(made) if made else AnnouncedCall(key=new_id("call_"), name=part.name, input=given)
        call.item_id, call.message = item.item_id, item.parent_id
        self._calls[part.call_id] = call

    def make(self, request: ToolRequested) -> AnnouncedCall:
        """The agent makes a call."""
        for call in self._calls.values():
            if not call.made and (call.name, call.input) == (request.name, request.input):
                break
        else:
            call = AnnouncedCall(key=request.tool_id, name=request.name, input=request.input)
            if self and len(self._unseen) < REMEMBERED:
                self._unseen[call.key] = call
        call.made = True
        return call

    def end(self, call_id: str, pending: Collection[str]) -> str | None:
        """A call has its result. Returns the key of its ask, if that is still `pending`."""
        call = self._calls.pop(call_id, None)
        if call is None or (call.made and call.ask_id not in pending):
            return None
        for twins in (self._calls, self._unseen):  # of two equal calls, the answer to one may be the other's result
            for id, twin in twins.items():
                if (twin.name, twin.input) == (call.name, call.input) and twin.made and twin.ask_id not in pending:
                    twins[id] = call
                    return None
        return call.key if call.ask_id in pending else None

    def open(self) -> None:
        """From now on, the calls of the messages so far are asked."""
        self._open.update(call.message for call in self._calls.values())

    def unasked(self) -> Iterator[AnnouncedCall]:
        """Calls that are to be asked now, in the order of their message."""
        for call in self._calls.values():
            if not call.ask_id and (call.made or (call.message in self._open and self._is_free(call))):
                yield call

    def _is_free(self, call: AnnouncedCall) -> bool:
        return self._policies.custom_verdict(call.name) in ("allow", "auto")


def announced_in(record: SessionRecord) -> AnnouncedCalls:
    """None so far, for the tools of this session."""
    if b'"tools"' not in record.config:  # that of nearly all sessions, for which this is cheap
        return AnnouncedCalls()
    config = config_of(record)
    return AnnouncedCalls(frozenset(tool.name for tool in config.tools), config.tool_policies)
