"""Model, effort and mode of a turn: what was chosen, else Codex's defaults.

Codex keeps what it was last given, so a choice that is taken back must be given as the default it falls back to.
"""

from collections.abc import Awaitable, Callable

from msgspec import Struct

from everyagent.agents.adapter import Launch
from everyagent.agents.codex.policy import modes
from everyagent.agents.codex.protocol.wire_responses import ThreadOpened


class Defaults(Struct, frozen=True, kw_only=True):
    """`effort` None: the model's own."""

    model: str
    effort: str | None


class TurnChoice(Struct, frozen=True, kw_only=True):
    model: str
    effort: str | None
    plan: bool


class TurnChoices:
    """`standing` is what Codex has for the thread now. `ask` is called once at most, and only where it must be."""

    def __init__(self, launch: Launch, opened: ThreadOpened, ask: Callable[[], Awaitable[Defaults | None]]) -> None:
        """`launch` is what the thread was opened with: one that was started without a choice has the defaults."""
        mode = opened.collaboration_mode
        plan = mode is not None and mode.mode == "plan"
        self.standing = TurnChoice(model=opened.model, effort=opened.reasoning_effort, plan=plan)
        self._as_opened = Defaults(model=opened.model, effort=opened.reasoning_effort)
        self._ask = ask
        fresh = launch.native_session_id is None and launch.model is None
        self._defaults = self._as_opened if fresh else None

    async def of(self, launch: Launch) -> TurnChoice:
        """If Codex does not report its defaults, those of the opened thread are used."""
        plan = modes.native(launch.permission_mode, launch.agent_mode).plan
        if launch.model and launch.variant:
            return TurnChoice(model=launch.model, effort=launch.variant, plan=plan)
        if self._defaults is None:
            self._defaults = await self._ask() or self._as_opened
        model, effort = launch.model or self._defaults.model, launch.variant or self._defaults.effort
        return TurnChoice(model=model, effort=effort, plan=plan)
