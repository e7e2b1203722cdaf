"""Sessions of a node that is gone, on the next one."""

from pathlib import Path

import pytest

from everyagent.cluster import node
from everyagent.model.events import Error, TurnEnded
from everyagent.model.sessions import CreateSession
from everyagent.sessions import Sessions
from tests.cluster.nodes import node_here
from tests.postgres.server import PostgresServer
from tests.sessions.conftest import Talk

SESSIONS = 3


async def begun(sessions: Sessions, folder: Path) -> Talk:
    made = await sessions.create(None, CreateSession(agent="mock", directory=str(folder)))
    return Talk(sessions, made.session_id)


async def test_a_node_takes_over_only_as_many_sessions_with_work_as_it_may_run_agents(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(node, "_LOOK_EVERY", 1)
    store, waiting = postgres.new_schema(), list[str]()
    async with node_here(tmp_path / "first", store) as first:
        for _ in range(SESSIONS):
            talk = await begun(first.sessions, tmp_path)
            waiting.append(talk.id)
            await talk.send("[hang]")
            await talk.until(lambda info: info.status == "running")
            await talk.send("[text words=1]")
    async with node_here(tmp_path / "second", store, max_agents=1) as second:
        for session_id in waiting:
            talk = Talk(second.sessions, session_id)
            await talk.until(lambda info: info.status in ("idle", "hibernated") and not info.queued_messages)
            events = [event.data for event in await talk.events()]
            assert [data.stop_reason for data in events if isinstance(data, TurnEnded)][-1] == "end_turn"
            assert not [data for data in events if isinstance(data, Error) and data.code == "limit_exceeded"]
