"""`everyagent managed`: maintenance of managed sessions while no daemon runs."""

import asyncio
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from everyagent import config
from everyagent.cli.exit_codes import ExitCode
from everyagent.cli.output import say
from everyagent.clock import SystemClock
from everyagent.log.log import Log
from everyagent.log.projections import ProjectionQuery
from everyagent.managed.projection.rebuild import NotRebuildable, kept_events, rebuild
from everyagent.store import open_log

app = App(name="managed", help="Check or rebuild the stored events of managed sessions.")


@app.command(name="rebuild")
def rebuild_projections(
    session_id: str | None = None,
    /,
    *,
    check: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    data_dir: Path | None = None,
) -> int:
    """Rebuild the stored events of managed sessions from the event log. Stop the daemon first.

    Parameters
    ----------
    session_id
        Only this session.
    check
        Write nothing; list the sessions whose stored events differ from the log, and fail if there is one.
    data_dir
        The data folder. [env: EVERYAGENT_DATA_DIR]
    """
    settings = config.load({"data_dir": data_dir})
    return asyncio.run(_rebuild(settings, session_id, check=check))


async def _rebuild(settings: config.Settings, only: str | None, *, check: bool) -> int:
    log = await open_log(settings, SystemClock())
    wrong = lost = checked = 0
    try:
        for session_id in [only] if only else await _all(log):
            checked += 1
            projection = await log.projection(session_id)
            try:
                made = await rebuild(log, session_id)
            except NotRebuildable as error:
                lost += 1
                say(f"{session_id} cannot be rebuilt and stays unchanged: {error}.")
                continue
            difference = made.differs_from(await kept_events(log, projection.session), projection)
            if difference is None:
                continue
            wrong += 1
            say(f"{session_id}: {difference}")
            if not check:
                await log.rewrite_projection(projection.session, made.step, made.times)
    finally:
        await log.close()
    done = "differ" if check else "rebuilt"
    say(f"{checked} managed sessions checked, {wrong} {done}.")
    return ExitCode.FAILED if lost or (check and wrong) else ExitCode.OK


async def _all(log: Log) -> list[str]:
    found: list[str] = []
    after = 0
    while page := await log.projections(
        ProjectionQuery(archived=True, unlisted=True, order="asc", after=after, limit=500)
    ):
        found += [projection.session_id for projection in page]
        after = page[-1].session
    return found
