"""Sessions of a node that is gone, on the next one."""

import shutil
import socket
from pathlib import Path

import anyio
import pytest

from everyagent.cluster import node
from everyagent.errors import BadRequest, Unavailable
from everyagent.model.checkpoints import RewindSession
from everyagent.model.events import Error, EventData, TurnEnded
from everyagent.model.sessions import CreateSession
from everyagent.sessions import Sessions
from tests.cluster.nodes import node_here
from tests.postgres.server import PostgresServer
from tests.sessions.conftest import Talk
from tests.waiting import LIMIT_SECONDS

SESSIONS = 3


async def begun(sessions: Sessions, folder: Path, *, checkpoints: bool = False) -> Talk:
    folder.mkdir(exist_ok=True)
    asked = CreateSession(agent="mock", directory=str(folder), checkpoints=checkpoints)
    made = await sessions.create(None, asked)
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
            assert stop_of(events) == "end_turn"
            assert not [data for data in events if isinstance(data, Error) and data.code == "limit_exceeded"]


def stop_of(events: list[EventData]) -> str:
    return [event.stop_reason for event in events if isinstance(event, TurnEnded)][-1]


async def test_a_session_whose_directory_is_on_another_node_says_so_and_goes_back_to_it(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, work = postgres.new_schema(), tmp_path / "work"
    monkeypatch.setattr(socket, "gethostname", lambda: "first-machine")
    async with node_here(tmp_path / "first", store) as first:
        talk = await begun(first.sessions, work, checkpoints=True)
        await talk.say("[text words=1]")
    shutil.rmtree(work)  # the next node does not have it
    monkeypatch.setattr(socket, "gethostname", lambda: "second-machine")
    async with node_here(tmp_path / "second", store) as second:
        here = second.sessions.services.node
        assert here is not None
        assert await here.elsewhere(talk.id) is None, "there is no other node"
        there = Talk(second.sessions, talk.id)
        events = [event.data for event in await there.say("[text words=1]")]
        assert stop_of(events) == "error"
        assert any("worked on the node first-machine" in event.message for event in events if isinstance(event, Error))
        with pytest.raises(BadRequest, match="on the node first-machine"):
            await second.sessions.rewind(talk.id, RewindSession(sequence=2, restore="files"))
        with pytest.raises(Unavailable, match="on the node first-machine"):
            await second.sessions.checkpoints.all(talk.id)

        monkeypatch.setattr(socket, "gethostname", lambda: "first-machine")
        async with node_here(tmp_path / "first", store) as again:
            home = again.sessions.services.node
            assert home is not None
            with anyio.fail_after(LIMIT_SECONDS):  # the session rests, and is given back
                while (owner := await here.elsewhere(talk.id)) is None:
                    await anyio.sleep(0.02)
            assert owner.node_id == home.node_id
            work.mkdir()
            assert await here.elsewhere(talk.id) is None, "now both have the directory"
            events = [event.data for event in await Talk(again.sessions, talk.id).say("[text words=1]")]
            assert stop_of(events) == "end_turn"
