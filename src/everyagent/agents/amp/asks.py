"""Decides on Amp's tool calls: by mode and policies where possible, else by asking the session's client."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
from anyio import to_thread
from msgspec import Raw, Struct

from everyagent.agents import diffs
from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.agents.amp.always import AlwaysAllowed
from everyagent.agents.amp.permissions import (
    Allowed,
    AllowRule,
    AmpToolRequest,
    MustAsk,
    Rejected,
    Standing,
    decide,
    files_of,
)
from everyagent.agents.amp.results import AmpCall, input_of
from everyagent.agents.mcp_names import server_and_tool
from everyagent.errors import AgentFailed
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import PermissionRequested, PermissionResolved
from everyagent.model.ids import new_id
from everyagent.model.policies import ToolPolicies

#: How long to wait for a call to arrive in Amp's output after its permission hook did.
CALL_LIMIT = 1.0
_TICK = 0.02
#: No diff is made of larger files.
DIFF_LIMIT = 512 * 1024
_REFUSED = "The user rejected this."
_CREATES = "create_file"


class _Pending(Struct, frozen=True):
    tool: str
    always: AllowRule | None
    verdict: "asyncio.Future[Allowed | Rejected]"


class AmpAsks:
    """`find` finds the call of a request, `note` hands frames with asks and withdrawals to the session."""

    def __init__(
        self,
        directory: Path,
        always: AlwaysAllowed,
        mode: str,
        policies: ToolPolicies,
        *,
        find: Callable[[str, object], AmpCall | None],
        note: Callable[[DecodedFrame], None],
    ) -> None:
        self.mode = mode
        self.policies = policies
        self._directory = directory
        self._always = always
        self._find = find
        self._note = note
        self._pending: dict[str, _Pending] = {}

    async def decide_call(self, body: bytes) -> str | None:
        """The reason for a denial, or None to allow. Cancelled when the hook that waits for it has gone."""
        try:
            standing, tool, given = body.split(b"\n", 2)
            wish = AmpToolRequest(tool.decode(), Raw(given), msgspec.convert(standing.decode(), Standing))
            input: object = msgspec.json.decode(given)
        except (ValueError, RecursionError):
            return "This call cannot be decoded, so it was rejected without asking."
        verdict = await self._rule(wish, input)
        return verdict.reason if isinstance(verdict, Rejected) else None

    async def _rule(self, wish: AmpToolRequest, input: object) -> Allowed | Rejected:
        decision = decide(wish, self.mode, self._directory, self._always.rules, self.policies)
        found = self._find(wish.tool, input)
        if not found and (isinstance(decision, MustAsk) or wish.tool == _CREATES):
            found = await self._call_of(wish, input)
        if found:
            found.asked = True
        if isinstance(decision, MustAsk):
            decision = await self._ask(wish, input, decision.always, found.key if found else None)
        if found and isinstance(decision, Allowed) and wish.tool == _CREATES:
            found.diff = await to_thread.run_sync(_diff, wish, self._directory)
        return decision

    def answer(self, key: str, answer: PermissionAnswer) -> None:
        pending = self._pending.get(key)
        if pending is None or pending.verdict.done():
            raise AgentFailed("The agent no longer waits for this answer.")
        if answer.reply == "always" and pending.always:
            self._always.add(pending.always)
        allowed = answer.reply != "reject"
        why = f"{_REFUSED} {answer.message}" if answer.message else _REFUSED
        pending.verdict.set_result(Allowed() if allowed else Rejected(why))

    def give_up(self, why: str) -> None:
        """Reject everything that is still pending."""
        for pending in self._pending.values():
            if not pending.verdict.done():
                pending.verdict.set_result(Rejected(why))

    async def _call_of(self, wish: AmpToolRequest, input: object) -> AmpCall | None:
        """None for a call that Amp does not report: those of its sub-agents."""
        with anyio.move_on_after(CALL_LIMIT):
            while not (found := self._find(wish.tool, input)):
                await anyio.sleep(_TICK)
            return found
        return None

    async def _ask(
        self, wish: AmpToolRequest, input: object, always: AllowRule | None, call: str | None
    ) -> Allowed | Rejected:
        key = new_id("ask_")
        verdict = asyncio.get_running_loop().create_future()
        self._pending[key] = _Pending(wish.tool, always, verdict)
        frame = Frame("from_agent", msgspec.json.encode({"delegate": wish.tool, "input": Raw(bytes(wish.input))}))
        self._note(DecodedFrame(frame, (requested(key, wish.tool, input, always, call),)))
        try:
            return await verdict
        finally:
            del self._pending[key]
            if not verdict.done() or verdict.cancelled():
                self._note(DecodedFrame(frame, (withdrawn(key, wish.tool),)))


def requested(key: str, tool: str, input: object, always: AllowRule | None, call: str | None) -> PermissionRequested:
    server, _ = server_and_tool(tool)
    rule = {"tool": always.tool, "detail": always.detail} if always else {}
    return PermissionRequested(
        permission_id=key,
        action=tool,
        status="requested",
        metadata={"mcp_server": server} if server else None,
        tool=tool,
        input=input,  # pyright: ignore[reportArgumentType]
        options=["once", "always", "reject"] if always else ["once", "reject"],
        suggestions=[{name: value for name, value in rule.items() if value}] if rule else [],
        item_id=call,
    )


def withdrawn(key: str, tool: str) -> PermissionResolved:
    return PermissionResolved(
        permission_id=key, action=tool, status="denied", reply="reject", message="The agent withdrew it."
    )


def _diff(wish: AmpToolRequest, directory: Path) -> str | None:
    """The change that writing the file makes, read before the write. None if the file is large or not text."""
    input = input_of(wish.input)
    for file in files_of(wish, directory) or ():
        try:
            if file.stat().st_size + len(input.content) <= DIFF_LIMIT:
                return diffs.changed(input.path, file.read_bytes().decode(), input.content)
        except FileNotFoundError:
            return diffs.created(input.path, input.content)
        except (OSError, UnicodeDecodeError):
            return None
    return None
