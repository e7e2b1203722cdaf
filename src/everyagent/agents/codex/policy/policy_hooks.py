"""The session's tool policies over what Codex's hooks bring and what Codex itself asks. Pure; used by `decode.py`."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import Draft
from everyagent.agents.codex.decode import asks, tools
from everyagent.agents.codex.decode.asks import Ask
from everyagent.agents.codex.decode.threads import Threads
from everyagent.agents.codex.policy import policies
from everyagent.agents.codex.policy.policies import Wish
from everyagent.agents.codex.protocol.wire import ErrorMessage
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import PermissionRequested
from everyagent.model.policies import UNRESTRICTED, ToolPolicies, refusal

DECLINED = "The user declined."
#: What approvals are called that are about a command.
_OF_SHELL = {"network": tools.SHELL}


class Knock(Struct, frozen=True):
    """A hook that waits; `key` is our name for it, `body` all it brought."""

    key: str
    wish: Wish
    body: bytes


class Ruled(Struct, frozen=True):
    """What a hook is told: why its call must not be, None if it may."""

    key: str
    why: str | None


class Put(Struct, frozen=True):
    """What a hook brought, put to the user."""

    ask: Ask


Ruling: TypeAlias = Ruled | Put


class Rulings:
    """`planning`: nothing is changed, so `allow` has no say."""

    def __init__(self, threads: Threads) -> None:
        self.policies: ToolPolicies = UNRESTRICTED
        self.planning = False
        self._threads = threads
        self._asked: dict[str, Wish] = {}
        self._permitted: set[str] = set()

    def knocked(self, knock: Knock) -> tuple[Ruling, Sequence[Draft]]:
        wish = knock.wish
        server, tool = wish.server_and_tool
        match wish.verdict(self.policies):
            case "allow" | "auto":
                return Ruled(knock.key, None), ()
            case "deny":
                why = refusal(tool)
                return Ruled(knock.key, why), self._refused(wish, why)
            case "ask":
                drafts = self._threads.announced(wish.thread, wish.item) if wish.itemized else ()
                item = self._threads.key(wish.thread, wish.tool_use_id) if wish.itemized else None
                ask, asked = asks.hooked(knock.key, tool, server, msgspec.json.decode(wish.tool_input), item)
                self._asked[knock.key] = wish
                return Put(ask), (*drafts, asked)

    def answered(self, key: str, answer: PermissionAnswer) -> tuple[Ruled, Sequence[Draft]]:
        wish = self._asked.pop(key)
        if answer.reply == "reject":
            why = answer.message or DECLINED
            return Ruled(key, why), self._refused(wish, why)
        server, tool = wish.server_and_tool
        self._permitted.add(_call(server, tool) if server else self._threads.key(wish.thread, wish.tool_use_id))
        return Ruled(key, None), ()

    def left(self, key: str) -> None:
        """Nobody waits for the answer any more."""
        self._asked.pop(key, None)

    def settles(self, asked: object) -> PermissionAnswer | None:
        """The answer to what Codex asks by itself, if the policies or an answer to them have given it."""
        if not isinstance(asked, PermissionRequested):
            return None
        server, tool = (asked.metadata or {}).get("mcp_server"), asked.tool or ""
        call = _call(server, tool) if isinstance(server, str) else asked.item_id or ""
        if call in self._permitted:
            self._permitted.discard(call)
            return PermissionAnswer(reply="once")
        if isinstance(server, str):
            verdict = policies.server_verdict(self.policies, server, tool)
        else:
            verdict = policies.own_verdict(self.policies, _OF_SHELL.get(tool, tool))
        return PermissionAnswer(reply="once") if verdict == "allow" and not self.planning else None

    def turn_over(self) -> None:
        self._permitted.clear()

    def _refused(self, wish: Wish, why: str) -> Sequence[Draft]:
        """Codex tells nothing of a call that a hook refused."""
        item = replace(wish.item, status="failed", error=ErrorMessage(message=why))
        return self._threads.returned(wish.thread, item)


def _call(server: str, tool: str) -> str:
    return f"{server}/{tool}"
