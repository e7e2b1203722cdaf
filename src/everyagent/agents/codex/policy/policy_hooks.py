"""Tool policies applied to the calls of Codex's hooks and to Codex's own asks. Pure; used by the decoder."""

from collections.abc import Sequence
from typing import TypeAlias

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import Draft
from everyagent.agents.codex.decode import asks, tools
from everyagent.agents.codex.decode.asks import Ask
from everyagent.agents.codex.decode.threads import ThreadItems
from everyagent.agents.codex.policy import policies
from everyagent.agents.codex.policy.policies import HookCall
from everyagent.agents.codex.protocol.wire_items import ErrorMessage
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import PermissionRequested
from everyagent.model.policies import UNRESTRICTED, ToolPolicies, refusal

DECLINED = "The user declined."
#: Names of approvals that are about a command.
_OF_SHELL = {"network": tools.SHELL}


class PendingHook(Struct, frozen=True):
    """A hook that waits; `key` is our name for it, `body` the whole call as it came."""

    key: str
    call: HookCall
    body: bytes


class HookDecision(Struct, frozen=True):
    """`why` is the reason to deny the call, None to allow it."""

    key: str
    why: str | None


class HookAsked(Struct, frozen=True):
    """The client must answer an ask about the call."""

    ask: Ask


HookOutcome: TypeAlias = HookDecision | HookAsked


class PolicyHooks:
    """`planning`: nothing may be changed, so a verdict of `allow` answers no ask of Codex's."""

    def __init__(self, threads: ThreadItems) -> None:
        self.policies: ToolPolicies = UNRESTRICTED
        self.planning = False
        self._threads = threads
        self._asked: dict[str, HookCall] = {}
        self._permitted: set[str] = set()

    def called(self, hook: PendingHook) -> tuple[HookOutcome, Sequence[Draft]]:
        call = hook.call
        server, tool = call.server_and_tool
        match call.verdict(self.policies):
            case "allow" | "auto":
                return HookDecision(hook.key, None), ()
            case "deny":
                why = refusal(tool)
                return HookDecision(hook.key, why), self._refused(call, why)
            case "ask":
                drafts = self._threads.announced(call.thread, call.item) if call.itemized else ()
                item = self._threads.key(call.thread, call.tool_use_id) if call.itemized else None
                ask, asked = asks.hooked(hook.key, tool, server, msgspec.json.decode(call.tool_input), item)
                self._asked[hook.key] = call
                return HookAsked(ask), (*drafts, asked)

    def answered(self, key: str, answer: PermissionAnswer) -> tuple[HookDecision, Sequence[Draft]]:
        call = self._asked.pop(key)
        if answer.reply == "reject":
            why = answer.message or DECLINED
            return HookDecision(key, why), self._refused(call, why)
        server, tool = call.server_and_tool
        self._permitted.add(_mcp_call(server, tool) if server else self._threads.key(call.thread, call.tool_use_id))
        return HookDecision(key, None), ()

    def withdraw(self, key: str) -> None:
        """Forgets an ask whose hook has gone."""
        self._asked.pop(key, None)

    def settles(self, asked: object) -> PermissionAnswer | None:
        """The answer to an ask of Codex's own that the policies, or an answer to a hook, have given already."""
        if not isinstance(asked, PermissionRequested):
            return None
        server, tool = (asked.metadata or {}).get("mcp_server"), asked.tool or ""
        call = _mcp_call(server, tool) if isinstance(server, str) else asked.item_id or ""
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

    def _refused(self, call: HookCall, why: str) -> Sequence[Draft]:
        """Codex sends no item for a call that a hook denied."""
        item = replace(call.item, status="failed", error=ErrorMessage(message=why))
        return self._threads.returned(call.thread, item)


def _mcp_call(server: str, tool: str) -> str:
    return f"{server}/{tool}"
