"""Chooses the isolation level of a session, and refuses one that this machine does not have."""

from anyio import to_thread
from msgspec import Struct

from everyagent.errors import AgentFailed, UnsupportedChoice
from everyagent.model.isolation import LEVELS, Containers, Isolation, IsolationChoice, weaker

FIELD = "isolation"
_NO_IMAGE = "no image is configured. Start the server with --container-image"


class IsolationPolicy(Struct, frozen=True, kw_only=True):
    """`default` is the level of sessions that name none. No session is less isolated than `floor`.

    `containers` are those of the level `container`.
    """

    default: IsolationChoice = "auto"
    floor: Isolation = "none"
    containers: Containers | None = None

    async def chosen(self, asked: IsolationChoice | None) -> Isolation:
        """The level of a new session. A level that was named is never replaced by another. Raises."""
        wanted = asked or self.default
        level = await self._automatic() if wanted == "auto" else wanted
        if weaker(level, self.floor):
            if wanted != "auto":
                strong = [each for each in LEVELS if not weaker(each, self.floor)]
                raise UnsupportedChoice(
                    f"This server runs no session below {self.floor!r}, and {wanted!r} is weaker. "
                    f"Choose one of: {', '.join(strong)}.",
                    field=FIELD,
                    choices=list(strong),
                )
            level = self.floor
        if why := await self.unavailable(level):
            found = await self.available()
            raise UnsupportedChoice(
                f"Isolation {level!r} is not available: {why}. Available: {', '.join(found) or 'nothing'}.",
                field=FIELD,
                choices=[*found],
            )
        return level

    async def available(self) -> list[Isolation]:
        """The levels that a session can have."""
        return [level for level in LEVELS if not weaker(level, self.floor) and not await self.unavailable(level)]

    async def default_level(self) -> Isolation | None:
        """The level of a session that names none; None if that is not available, so that it would be refused."""
        try:
            return await self.chosen(None)
        except UnsupportedChoice:
            return None

    async def described(self) -> str:
        """The level of sessions that name none, with a warning if agents are not isolated."""
        level = await self.default_level()
        if level is None:
            return "not available: sessions are refused unless they name another level"
        if level == "none" and (why := await self.unavailable("namespace")):
            return f"none: agents can read and change everything that you can ({why})"
        return "none: agents can read and change everything that you can" if level == "none" else level

    async def at_start(self, stored: Isolation | None) -> Isolation:
        """The level at which an agent starts: that of its session, raised to the floor. Raises `AgentFailed`."""
        level: Isolation = stored or (await self._automatic() if self.default == "auto" else self.default)
        if weaker(level, self.floor):
            level = self.floor
        if why := await self.unavailable(level):
            raise AgentFailed(f"The agent was not started, because isolation {level!r} is not available: {why}.")
        return level

    def walled(self, stored: Isolation | None) -> bool:
        """Whether the agent of a session runs behind a wall, if the machine has walls."""
        return stored != "none" or self.floor != "none"

    async def unavailable(self, level: Isolation) -> str | None:
        """The reason why this machine does not have a level; None if it has."""
        match level:
            case "none":
                return None
            case "namespace":
                from everyagent.runtime import wall_probe  # loaded at the first session

                why = await to_thread.run_sync(wall_probe.unavailable_reason)
                return why.rstrip(".") if why else None
            case "container":
                if self.containers is None:
                    return _NO_IMAGE
                from everyagent.runtime.container import Podman  # few servers have containers

                return await to_thread.run_sync(Podman.of(self.containers).unavailable_reason)

    async def _automatic(self) -> Isolation:
        """`namespace` where the system permits it, else `none`."""
        return "none" if await self.unavailable("namespace") else "namespace"


def on_runner(asked: IsolationChoice | None) -> Isolation | None:
    """The level that a session asks its runner for; None for the runner's own. The runner refuses one it lacks."""
    if asked == "container":
        raise UnsupportedChoice(f"Isolation {asked!r} is not available on a runner.", field=FIELD)
    return None if asked == "auto" else asked
