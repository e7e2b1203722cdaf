"""Supervised tasks: what an adapter's task raises ends that task, never the daemon."""

from collections.abc import Awaitable, Callable
from typing import TypeAlias, TypeVarTuple

from anyio.abc import TaskGroup
from msgspec.structs import replace

from everyagent.agents.adapter import Death
from everyagent.logs import get_logger

logger = get_logger(__name__)
Args = TypeVarTuple("Args")
#: Called with the exception that ended a task: turns it into the death of the agent the task served.
OnFault: TypeAlias = Callable[[Exception], Awaitable[None]]


def death_by(fault: Exception, title: str, death: Death) -> Death:
    """The death of an agent that was ended because the daemon's own code raised `fault` while it served it."""
    reason = f"{type(fault).__name__}: {fault}" if str(fault) else type(fault).__name__
    message = f"{title} was ended because of an internal error of everyagent ({reason})."
    return replace(death, code="internal", history_lost=False, message=message)


async def report(on_fault: OnFault, fault: Exception) -> None:
    """Never raises: an exception of `on_fault` is logged."""
    try:
        await on_fault(fault)
    except Exception:
        logger.exception("an agent's fault could not be reported to its session")


class TaskSupervisor:
    """Starts the tasks of all adapters in one task group, and isolates each from the others."""

    def __init__(self, tasks: TaskGroup) -> None:
        self._tasks = tasks

    def start_soon(
        self,
        run: Callable[[*Args], Awaitable[object]],
        *args: *Args,
        on_fault: OnFault | None = None,
    ) -> None:
        """An exception of `run` is logged once, with its trace, and passed to `on_fault`."""

        async def supervised() -> None:
            try:
                await run(*args)
            except Exception as fault:
                logger.exception("an agent's task failed", task=getattr(run, "__qualname__", repr(run)))
                if on_fault:
                    await report(on_fault, fault)

        self._tasks.start_soon(supervised)
