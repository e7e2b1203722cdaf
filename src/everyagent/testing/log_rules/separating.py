"""Rules of workspaces: a query for one workspace finds nothing of another."""

import pytest
from msgspec.structs import replace

from everyagent.errors import RecordExists
from everyagent.log.log import Append, Log, NewAsk, SessionQuery, SessionRecord
from everyagent.log.projections import NewProjection, ProjectionQuery
from everyagent.log.records import Insert, RecordQuery
from everyagent.testing.log_rules.samples import START, STARTED, LogStore, event, record

_VIEW = NewProjection(agent_id="a", agent_version=1, environment_id="e", status="idle", state=b"{}", document=b"{}")


class SeparatingRules:
    async def test_a_session_stays_in_its_workspace(self, log: Log, store: LogStore) -> None:
        made = await _session(log, "one", "red")
        assert (await log.session("one")).workspace == "red"
        await log.close()
        again = await store.open()
        assert (await again.session_by_number(made.number)).workspace == "red"
        assert (await again.claim("one")).workspace == "red"
        await again.close()

    async def test_sessions_are_listed_by_workspace(self, log: Log) -> None:
        for number in range(4):
            await _session(log, f"red-{number}", "red")
            await _session(log, f"blue-{number}", "blue")
        page = await log.sessions(SessionQuery(workspace="red", limit=3))
        assert [session.session_id for session in page] == ["red-3", "red-2", "red-1", "red-0"]
        assert await log.sessions(SessionQuery(workspace="green")) == []
        assert len(await log.sessions(SessionQuery())) == 8

    async def test_projections_are_listed_by_workspace(self, log: Log) -> None:
        for name in ("red", "blue"):
            await log.create(replace(record(name), workspace=name), [event(1, type=STARTED)], projection=_VIEW)
        (found,) = await log.projections(ProjectionQuery(workspace="red"))
        assert (found.session_id, found.workspace) == ("red", "red")
        assert (await log.projection("blue")).workspace == "blue"

    async def test_asks_are_listed_by_workspace(self, log: Log) -> None:
        for name in ("red", "blue"):
            made = await _session(log, name, name)
            ask = NewAsk(f"ask_{name}", "permission", 2, b"{}")
            await log.append(Append(session=made.number, epoch=0, expected=1, at=START, events=[event(2)], asks=[ask]))
        (found,) = await log.asks(None, pending=True, workspace="red")
        assert found.ask_id == "ask_red"
        assert len(await log.asks(None, pending=True)) == 2

    async def test_search_finds_the_best_of_one_workspace(self, log: Log) -> None:
        for number in range(5):
            await _session(log, f"blue-{number}", "blue", "needle needle needle")
        await _session(log, "red", "red", "one needle among many other words")
        found = await log.search("needle", None, 2, "red")
        assert [hit.session_id for hit in found] == ["red"]
        assert await log.search("needle", None, 2, "green") == []
        assert len(await log.search("needle", None, 10)) == 6

    async def test_records_are_listed_by_workspace(self, log: Log) -> None:
        for name in ("red", "blue"):
            await log.records.write(Insert(kind="thing", id=name, body=b"{}", workspace=name))
        (found,) = await log.records.page(RecordQuery(kind="thing", workspace="red"))
        assert (found.id, found.workspace) == ("red", "red")
        assert (await log.records.find("thing", "blue")).workspace == "blue"

    async def test_a_key_is_unique_in_one_workspace(self, log: Log) -> None:
        await log.records.write(Insert(kind="thing", id="a", key="name", body=b"{}", workspace="red"))
        await log.records.write(Insert(kind="thing", id="b", key="name", body=b"{}", workspace="blue"))
        with pytest.raises(RecordExists):
            await log.records.write(Insert(kind="thing", id="c", key="name", body=b"{}", workspace="blue"))

    async def test_a_record_is_in_the_workspace_of_its_parent(self, log: Log) -> None:
        await _session(log, "one", "red")
        parent = Insert(kind="thing", id="parent", body=b"{}", workspace="red")
        of_record = Insert(kind="part", id="p1", parent="parent", body=b"{}", workspace="blue")
        of_session = Insert(kind="part", id="p2", parent="one", body=b"{}", workspace="blue")
        of_nothing = Insert(kind="part", id="p3", parent="unknown", body=b"{}", workspace="blue")
        written = await log.records.write(parent, of_record, of_session, of_nothing)
        assert [found.workspace for found in written] == ["red", "red", "red", "blue"]


async def _session(log: Log, session_id: str, workspace: str, text: str | None = None) -> SessionRecord:
    return await log.create(replace(record(session_id), workspace=workspace), [event(1, type=STARTED, text=text)])
