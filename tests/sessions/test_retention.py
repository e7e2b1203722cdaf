"""Old sessions are deleted by age, by the size of the log and by status, and none in which something happens."""

from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.errors import SessionNotFound
from everyagent.log.log import SessionQuery
from everyagent.model.retention import RetainedStatus, Retention
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from everyagent.sessions.retention import delete_due
from tests.postgres.server import PostgresServer
from tests.sessions.conftest import Opened, Talk

Create = Callable[..., Awaitable[Talk]]
#: Every session is older.
AT_ONCE = 1e-9


async def ids(sessions: Sessions) -> list[str]:
    infos, _ = await sessions.list(SessionQuery())
    return sorted(info.session_id for info in infos)


@pytest.mark.parametrize("store", ["sqlite", "postgres"])
@pytest.mark.parametrize("status", ["ended", "idle"])
async def test_only_sessions_in_which_nothing_happens_are_deleted(
    request: pytest.FixtureRequest, create: Create, tmp_path: Path, status: RetainedStatus, store: str
) -> None:
    url: str | None = None
    if store == "postgres":
        server: PostgresServer = request.getfixturevalue("postgres")
        url = server.new_schema()
    settings = Settings(data_dir=tmp_path / "data", default_agent="mock", store=url)
    async with sessions_of(settings, limits=Limits(idle_timeout=0.01, sweep_every=0.02)) as sessions:
        ended, asked, running, idle, unused = [await create(sessions) for _ in range(5)]
        await ended.say("hello")
        await sessions.terminate(ended.id)
        await asked.send("[ask]")
        await asked.until(lambda info: info.pending_asks > 0)
        await running.send("[hang]")
        await running.until(lambda info: info.status == "running")
        await idle.say("hello")
        await idle.until(lambda info: info.status == "hibernated")
        deleted = await delete_due(sessions, Retention(days=AT_ONCE, status=status))
        gone = {ended.id} if status == "ended" else {ended.id, idle.id, unused.id}
        assert set(deleted) == gone
        assert await ids(sessions) == sorted({each.id for each in (ended, asked, running, idle, unused)} - gone)
        for each in gone:
            with pytest.raises(SessionNotFound):
                await sessions.get(each)


async def test_the_oldest_go_until_the_log_is_small_enough(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talks = [await create(sessions) for _ in range(4)]
        for talk in talks:
            await talk.say("hello")
            await sessions.terminate(talk.id)
        each = (await talks[0].info()).event_count
        assert await delete_due(sessions, Retention(events=each * 4)) == []
        assert await delete_due(sessions, Retention(events=each * 2 + 1)) == [talks[0].id, talks[1].id]
        assert await ids(sessions) == sorted([talks[2].id, talks[3].id])


async def test_without_a_limit_nothing_is_deleted(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions)
        await sessions.terminate(talk.id)
        assert not Retention(status="idle").deletes
        assert await delete_due(sessions, Retention(status="idle")) == []
