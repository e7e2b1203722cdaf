"""Archiving and deleting sessions through either API."""

from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from everyagent.managed import Managed
from everyagent.managed.projection.rebuild import kept_events, rebuild
from everyagent.managed.resources.agents.shape import AgentCreate
from everyagent.managed.resources.environments.shape import EnvironmentCreate
from everyagent.managed.resources.files.shape import FileListQuery
from everyagent.managed.resources.vaults.shape import VaultCreate
from everyagent.managed.sessions.shape import ManagedSession, SessionCreate, SessionListQuery
from everyagent.managed.workspace.shape import FileParams
from tests.managed import services


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Managed]:
    async with services.managed(tmp_path) as managed:
        yield managed


async def new_session(on: Managed) -> ManagedSession:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"content"

    async with on.files.upload(pieces()) as upload:
        file = await on.files.add(upload, "a", None)
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small"))
    place = await on.environments.create(EnvironmentCreate(name="e"))
    resources = [FileParams(file_id=file.id)]
    return await on.managed_sessions.create(
        SessionCreate(agent=agent.id, environment_id=place.id, resources=[*resources])
    )


@pytest.mark.parametrize("universal", [True, False])
async def test_a_deleted_session_leaves_nothing_behind(on: Managed, universal: bool) -> None:
    session = await new_session(on)
    folder = on.workspaces.directory(session.id)
    assert len((await on.list_files(FileListQuery(scope_id=session.id))).data) == 1
    await (on.sessions.delete(session.id) if universal else on.managed_sessions.delete(session.id))
    assert not folder.exists()
    assert await on.resources.of(session.id) == []
    assert (await on.files.list(FileListQuery(scope_id=session.id))).data == []


async def test_an_ended_session_can_be_archived(on: Managed) -> None:
    session = await new_session(on)
    await on.sessions.terminate(session.id)
    archived = await on.managed_sessions.archive(session.id)
    assert (archived.status, archived.archived_at is None) == ("terminated", False)
    assert await on.managed_sessions.archive(session.id) == archived
    assert (await on.managed_sessions.list(SessionListQuery())).data == []
    log = on.sessions.projected.log
    record, projection = await on.sessions.projected.find(session.id)
    again = await rebuild(log, session.id)
    assert again.differs_from(await kept_events(log, record.number), projection) is None
    assert again.step.archived_at == projection.archived_at


@pytest.mark.parametrize("how", ["deleted", "archived"])
async def test_a_session_starts_without_a_deleted_or_archived_vault(on: Managed, how: str) -> None:
    vault = await on.vaults.create(VaultCreate(display_name="v"))
    await (on.vaults.delete(vault.id) if how == "deleted" else on.vaults.archive(vault.id))
    place = await services.environment(on)
    prepared = await on.workspaces.prepare("sesn_1", await services.agent(on), place, [vault.id])
    (problem,) = prepared.problems
    assert vault.id in problem
    assert "works without" in problem
