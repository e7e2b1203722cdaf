"""Tool policies on OpenCode: our plugin asks before every tool call of a session and its sub-agents.

What OpenCode asks by itself comes after that, and is answered with what was ruled.
"""

import asyncio
from collections.abc import Callable, Mapping

import anyio
import msgspec
from msgspec import Raw, Struct

from everyagent.agents.adapter import Frame, Heard
from everyagent.agents.opencode.decode import asks, tools
from everyagent.agents.opencode.decode.calls import Call
from everyagent.errors import AgentFailed
from everyagent.model.asks import Answer, PermissionAnswer
from everyagent.model.events import PermissionRequested
from everyagent.model.ids import new_id
from everyagent.model.policies import AgentTool, ToolPolicies, Verdict, refusal

#: The server under which the session's custom tools are offered: the daemon sees to their policies.
CUSTOM_SERVER = "everyagent"
#: How long a call may be on its way through the event stream when its hook is here already.
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
    AgentTool(name="webfetch", kinds=["web_fetch"]),
    AgentTool(name="websearch", kinds=["web_search"]),
    AgentTool(name="codesearch", kinds=["web_search"]),
    AgentTool(name="question", by_name=True),
    AgentTool(name="plan_exit", by_name=True),
    *(AgentTool(name=name) for name in ("batch", "invalid", "lsp", "skill", "task", "todoread", "todowrite")),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}


class Wish(Struct, frozen=True, rename={"session": "sessionID", "call": "callID"}):
    """What the plugin brings: a call that is about to be carried out."""

    tool: str
    session: str
    call: str
    args: Raw = Raw(b"{}")


class Policies:
    """Of one session. `find` is its call by session and native id; what is asked is `put` among what is heard."""

    def __init__(
        self,
        servers: Mapping[str, str],
        *,
        find: Callable[[str, str], Call | None],
        put: Callable[[Heard], None],
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

    async def wish(self, wish: Wish, body: bytes) -> str | None:
        """Why it must not be; None if it may. Cancelled, when the plugin is gone."""
        match self.verdict(wish.tool):
            case "allow" | "auto":
                return None
            case "deny":
                return refusal(tools.named(wish.tool, self._servers).name)
            case "ask":
                return await self._ask(wish, body)

    def settles(self, call: Call | None, permission: str) -> bool:
        """Whether a permission that OpenCode asks for by itself was given by the policies, or by an answer to them."""
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
        """No answer counts for a turn that is over."""
        self._permitted.clear()
        for _, waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_result(_LEFT)

    async def _ask(self, wish: Wish, body: bytes) -> str | None:
        call = await self._call_of(wish)
        key, waiting = new_id("ask_"), asyncio.get_running_loop().create_future()
        self._waiting[key] = (wish.call, waiting)
        frame = Frame("from_agent", body)
        tool = tools.named(wish.tool, self._servers)
        requested = PermissionRequested(
            permission_id=key,
            action=tool.name,
            status="requested",
            metadata={"mcp_server": tool.server} if tool.server else None,
            tool=tool.name,
            input=msgspec.json.decode(wish.args),
            options=["once", "reject"],
            item_id=call.part.id if call else None,
        )
        self._put(Heard(frame, (requested,)))
        try:
            return await waiting
        finally:
            del self._waiting[key]
            if waiting.cancelled() or not waiting.done():
                self._put(Heard(frame, (asks.withdrawn("permission", key),)))

    async def _call_of(self, wish: Wish) -> Call | None:
        with anyio.move_on_after(CALL_LIMIT):
            while not (found := self._find(wish.session, wish.call)):
                await anyio.sleep(_TICK)
            return found
        return None
