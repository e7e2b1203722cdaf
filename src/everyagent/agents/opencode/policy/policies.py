"""Tool policies on OpenCode: our plugin asks for a decision before every tool call of a session and its sub-agents.

OpenCode's own permission asks come after that, and are answered with the same decision.
"""

import asyncio
from collections.abc import Callable, Mapping

import anyio
import msgspec
from msgspec import Raw, Struct

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.opencode.decode import asks, tools
from everyagent.agents.opencode.decode.calls import OpencodeCall
from everyagent.agents.web_fetch import fetch_refusal
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.events import PermissionRequested
from everyagent.model.ids import new_id
from everyagent.model.policies import AgentTool, ToolPolicies, Verdict, refusal

#: The MCP server of the session's custom tools, whose policies the daemon applies itself.
CUSTOM_SERVER = "everyagent"
#: How long a call's event may take to arrive after its hook.
CALL_LIMIT = 2.0
_TICK = 0.02
_LEFT = "The turn this was asked in is over."
_DECLINED = "The user declined."

TOOLS = [
    AgentTool(name="bash", kinds=["bash"]),
    AgentTool(name="read", kinds=["read"]),
    AgentTool(name="list", kinds=["glob"]),
    AgentTool(name="write", kinds=["write"]),
    AgentTool(name="edit", kinds=["edit"]),
    AgentTool(name="multiedit", kinds=["edit"]),
    AgentTool(name="apply_patch", kinds=["write", "edit"]),
    AgentTool(name="patch", kinds=["write", "edit"]),
    AgentTool(name="glob", kinds=["glob"]),
    AgentTool(name="grep", kinds=["grep"]),
    AgentTool(name="webfetch", kinds=["web_fetch"], domains=True),
    AgentTool(name="websearch", kinds=["web_search"]),
    AgentTool(name="codesearch", kinds=["web_search"]),
    AgentTool(name="question", by_name=True),
    AgentTool(name="plan_exit", by_name=True),
    *(AgentTool(name=name) for name in ("batch", "invalid", "lsp", "skill", "task", "todoread", "todowrite")),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}


class PluginCall(Struct, frozen=True, rename={"session": "sessionID", "call": "callID"}):
    """A tool call that is about to be carried out, as the plugin reports it."""

    tool: str
    session: str
    call: str
    args: Raw = Raw(b"{}")


class SessionPolicies:
    """The policies of one session. `find` gets a call by session and native id; asks are `put` among the events."""

    def __init__(
        self,
        servers: Mapping[str, str],
        *,
        find: Callable[[str, str], OpencodeCall | None],
        put: Callable[[DecodedFrame], None],
    ) -> None:
        self.policies = ToolPolicies()
        self.planning = False
        self._servers = dict(servers)
        self._find = find
        self._put = put
        self._waiting: dict[str, tuple[str, asyncio.Future[str | None]]] = {}
        self._permitted: set[str] = set()

    def verdict(self, name: str) -> Verdict:
        tool = tools.named(name, self._servers)
        if tool.server == CUSTOM_SERVER:
            return "auto"
        if tool.server:
            return self.policies.server_verdict(tool.server, tool.name)
        return self.policies.verdict(_BY_NAME.get(name, AgentTool(name=name)))

    async def decide(self, call: PluginCall, body: bytes) -> str | None:
        """The reason to deny the call, or None to allow it. Cancelled when the plugin is gone."""
        if elsewhere := fetch_refusal(self.policies, _BY_NAME.get(call.tool), call.args):
            return elsewhere
        match self.verdict(call.tool):
            case "allow" | "auto":
                return None
            case "deny":
                return refusal(tools.named(call.tool, self._servers).name)
            case "ask":
                return await self._ask(call, body)

    def settles(self, call: OpencodeCall | None, permission: str) -> bool:
        """Whether the policies, or an answer to their ask, already grant a permission for which OpenCode asks."""
        if call and call.part.call in self._permitted:
            return True
        return not self.planning and self.verdict(tools.called(call.part) if call else permission) == "allow"

    def asked(self, key: str) -> bool:
        return key in self._waiting

    def answer(self, key: str, answer: Answer) -> None:
        call, waiting = self._waiting[key]
        if not isinstance(answer, PermissionAnswer) or waiting.done():
            raise AgentFailed("The agent no longer waits for this answer.")
        if answer.reply == "reject":
            waiting.set_result(answer.message or _DECLINED)
        else:
            self._permitted.add(call)
            waiting.set_result(None)

    def turn_over(self) -> None:
        """Answers do not hold beyond the turn."""
        self._permitted.clear()
        for _, waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(_LEFT)

    async def _ask(self, call: PluginCall, body: bytes) -> str | None:
        item = await self._item_of(call)
        key, waiting = new_id("ask_"), asyncio.get_running_loop().create_future()
        self._waiting[key] = (call.call, waiting)
        frame = Frame("from_agent", body)
        tool = tools.named(call.tool, self._servers)
        requested = PermissionRequested(
            permission_id=key,
            action=tool.name,
            status="requested",
            metadata={"mcp_server": tool.server} if tool.server else None,
            tool=tool.name,
            input=msgspec.json.decode(call.args),
            options=["once", "reject"],
            item_id=item.part.id if item else None,
        )
        self._put(DecodedFrame(frame, (requested,)))
        try:
            return await waiting
        finally:
            del self._waiting[key]
            if waiting.cancelled() or not waiting.done():
                self._put(DecodedFrame(frame, (asks.withdrawn("permission", key),)))

    async def _item_of(self, call: PluginCall) -> OpencodeCall | None:
        with anyio.move_on_after(CALL_LIMIT):
            while not (found := self._find(call.session, call.call)):
                await anyio.sleep(_TICK)
            return found
        return None
