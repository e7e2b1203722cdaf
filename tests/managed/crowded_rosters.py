"""Runs `everyagent`, in which two threads of a session may work at a time, and threads begin four together."""

from collections.abc import Awaitable
from typing import Protocol, cast

import anyio

from everyagent.cli.main import main
from everyagent.managed.roster import calls
from everyagent.managed.roster.calls import RosterCalls


class _Begin(Protocol):
    def __call__(self, calls: RosterCalls, *given: object) -> Awaitable[None]: ...


_begin = cast("_Begin", RosterCalls._begin)  # pyright: ignore[reportPrivateUsage]
_begun: list[object] = []
_together = anyio.Event()


async def _begin_together(self: RosterCalls, *given: object) -> None:
    _begun.append(given)
    if len(_begun) == 4:
        _together.set()
    await _together.wait()
    await _begin(self, *given)


if __name__ == "__main__":
    calls.MAX_AT_WORK = 2  # pyright: ignore[reportConstantRedefinition, reportAttributeAccessIssue]
    RosterCalls._begin = _begin_together  # pyright: ignore[reportAttributeAccessIssue, reportPrivateUsage]
    main()
