"""What Amp's delegates ask for: decided here where the mode decides it, else asked of the session's client."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import anyio
import msgspec
from msgspec import Raw, Struct

from everyagent.agents.adapter import Frame, Heard
from everyagent.agents.amp.always import Always
from everyagent.agents.amp.permissions import Allowed, Asked, Rejected, Rule, Wish, decide, files_of
from everyagent.agents.amp.results import Call
from everyagent.agents.mcp_names import server_and_tool
from everyagent.errors import AgentFailed
from everyagent.model.asks import PermissionAnswer
from everyagent.model.events import PermissionRequested, PermissionResolved
from everyagent.model.ids import new_id

#: How long a call may be on its way through Amp's output when its delegate is here already.
CALL_LIMIT = 1.0
_TICK = 0.02
_REFUSED = "The user rejected this."


class _Pending(Struct, frozen=True):
    tool: str
    always: Rule
    verdict: "asyncio.Future[Allowed | Rejected]"


class Asks:
    """`find` is the call a wish is about, and `note` tells the session of what is asked and withdrawn."""

    def __init__(
        self,
        directory: Path,
        always: Always,
        mode: str,
        *,
        find: Callable[[str, object], tuple[str, Call] | None],
        note: Callable[[Heard], None],
    ) -> None:
        self.mode = mode
        self._directory = directory
        self._always = always
        self._find = find
        self._note = note
        self._pending: dict[str, _Pending] = {}

    async def wish(self, wish: Wish) -> Allowed | Rejected:
        """May be cancelled, when the delegate that waits for it is gone."""
        try:
            input: object = msgspec.json.decode(wish.input)
        except (msgspec.DecodeError, RecursionError):
            return Rejected("This call's input is no JSON, so nobody can be asked about it.")
        found = await self._call_of(wish, input)
        if found:
            found[1].asked = True
            found[1].creates = _creates(wish, self._directory)
        decision = decide(wish, self.mode, self._directory, self._always.rules)
        if isinstance(decision, Asked):
            return await self._ask(wish, input, decision.always, found[0] if found else None)
        return decision

    def answer(self, key: str, answer: PermissionAnswer) -> None:
        pending = self._pending.get(key)
        if pending is None or pending.verdict.done():
            raise AgentFailed("The agent no longer waits for this answer.")
        if answer.reply == "always":
            self._always.add(pending.always)
        allowed = answer.reply != "reject"
        why = f"{_REFUSED} {answer.message}" if answer.message else _REFUSED
        pending.verdict.set_result(Allowed() if allowed else Rejected(why))

    def give_up(self, why: str) -> None:
        """Nobody answers any more, so it is no."""
        for pending in self._pending.values():
            if not pending.verdict.done():
                pending.verdict.set_result(Rejected(why))

    async def _call_of(self, wish: Wish, input: object) -> tuple[str, Call] | None:
        """None for a call that Amp does not tell of: those of its sub-agents."""
        with anyio.move_on_after(CALL_LIMIT):
            while not (found := self._find(wish.tool, input)):
                await anyio.sleep(_TICK)
            return found
        return None

    async def _ask(self, wish: Wish, input: object, always: Rule, call: str | None) -> Allowed | Rejected:
        key = new_id("ask_")
        verdict = asyncio.get_running_loop().create_future()
        self._pending[key] = _Pending(wish.tool, always, verdict)
        frame = Frame("from_agent", msgspec.json.encode({"delegate": wish.tool, "input": Raw(bytes(wish.input))}))
        self._note(Heard(frame, (requested(key, wish.tool, input, always, call),)))
        try:
            return await verdict
        finally:
            del self._pending[key]
            if not verdict.done() or verdict.cancelled():
                self._note(Heard(frame, (withdrawn(key, wish.tool),)))


def requested(key: str, tool: str, input: object, always: Rule, call: str | None) -> PermissionRequested:
    server, _ = server_and_tool(tool)
    return PermissionRequested(
        permission_id=key,
        action=tool,
        status="requested",
        metadata={"mcp_server": server} if server else None,
        tool=tool,
        input=input,  # pyright: ignore[reportArgumentType]
        options=["once", "always", "reject"],
        suggestions=[{"tool": always.tool, "detail": always.detail} if always.detail else {"tool": always.tool}],
        item_id=call,
    )


def withdrawn(key: str, tool: str) -> PermissionResolved:
    return PermissionResolved(
        permission_id=key, action=tool, status="denied", reply="reject", message="The agent withdrew it."
    )


def _creates(wish: Wish, directory: Path) -> bool:
    files = files_of(wish, directory) if wish.tool == "create_file" else None
    return bool(files) and not any(file.exists() for file in files)
