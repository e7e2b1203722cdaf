"""Deletes old sessions in the background, as the settings `retain-...` say. Started by the daemon."""

import anyio

from everyagent.errors import EveryagentError
from everyagent.log.log import SessionQuery
from everyagent.logs import get_logger
from everyagent.model.retention import Retention
from everyagent.model.sessions import SessionInfo
from everyagent.sessions.sessions import Sessions

#: Seconds between two looks, and between two deletions: other work goes first.
_EVERY = 3600.0
_PAUSE = 0.02
_PAGE = 500
logger = get_logger(__name__)


async def retain(sessions: Sessions, retention: Retention) -> None:
    """For ever. Returns at once if nothing is to be deleted."""
    while retention.deletes:
        try:
            deleted = await delete_due(sessions, retention)
        except EveryagentError as error:
            logger.warning("old sessions could not be deleted", why=str(error))
        else:
            if deleted:
                logger.info("old sessions were deleted", count=len(deleted))
        await anyio.sleep(_EVERY)


async def delete_due(sessions: Sessions, retention: Retention) -> list[str]:
    """Delete what is due now. A session that is in use, or belongs to another node, is left for the next time."""
    deleted: list[str] = []
    for info in retention.due(await _all(sessions), sessions.services.clock.micros() // 1000):
        try:
            if await sessions.delete_unused(info.session_id):
                deleted.append(info.session_id)
        except EveryagentError as error:
            logger.warning("an old session could not be deleted", session=info.session_id, why=str(error))
        await anyio.sleep(_PAUSE)
    return deleted


async def _all(sessions: Sessions) -> list[SessionInfo]:
    found: list[SessionInfo] = []
    page: str | None = None
    while True:
        infos, page = await sessions.list(SessionQuery(limit=_PAGE), page)
        found += infos
        if page is None:
            return found
