"""Limits of API keys on the daemon's machine: folders, files and isolation."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx2
import pytest

from tests.api.keyed import Keyed, keyed
from tests.managed.git_stage import git

pytestmark = pytest.mark.anyio


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Keyed]:
    (tmp_path / "projects" / "one").mkdir(parents=True)
    async with keyed(tmp_path, key_directory=tmp_path / "projects") as server:
        yield server


async def created(client: httpx2.AsyncClient, name: str, **fields: object) -> httpx2.Response:
    return await client.post(f"/v1/sessions/{name}", json={"agent": "mock", **fields})


async def test_sessions_of_a_key_work_below_its_folder(server: Keyed, tmp_path: Path) -> None:
    _, key = await server.key("red")
    (tmp_path / "projects" / "out").symlink_to(tmp_path)
    for refused in ("/", str(tmp_path), str(tmp_path / "projects" / ".."), str(tmp_path / "projects" / "out")):
        answer = await created(key, "no", directory=refused)
        assert (answer.status_code, "--key-directory" in answer.json()["detail"]) == (403, True), refused
    inside = await created(key, "yes", directory=str(tmp_path / "projects" / "one"))
    assert inside.json()["directory"] == str(tmp_path / "projects" / "one")
    assert (await created(key, "default")).json()["directory"] == str(tmp_path / "projects")
    assert (await created(await server.owner(), "owner", directory=str(tmp_path))).status_code == 200


async def test_a_key_cannot_turn_isolation_off(server: Keyed) -> None:
    _, key = await server.key("red")
    answer = await created(key, "no", isolation="none")
    assert (answer.status_code, "isolation" in answer.json()["detail"]) == (403, True)
    assert (await created(await server.owner(), "owner", isolation="none")).status_code == 200


async def test_a_key_cannot_attach_files_of_the_machine(server: Keyed, tmp_path: Path) -> None:
    _, key = await server.key("red")
    assert (await created(key, "one")).status_code == 200
    body = {"message": "look", "attachments": [{"path": str(tmp_path / "data" / "vault.key")}]}
    for route in ("messages", "messages/stream"):
        assert (await key.post(f"/v1/sessions/one/{route}", json=body)).status_code == 403


async def test_a_key_cannot_read_the_daemons_data_through_a_session_of_the_owner(server: Keyed, tmp_path: Path) -> None:
    owner = await server.owner()
    assert (await created(owner, "wide", directory=str(tmp_path))).status_code == 200
    _, key = await server.key("default")
    path = {"sessionId": "wide", "path": "data/vault.key"}
    assert (await key.get("/v1/fs/file", params=path)).status_code == 403
    assert (await key.get("/v1/fs/entries", params={"sessionId": "wide"})).status_code == 403
    assert (await owner.get("/v1/fs/file", params=path)).status_code == 200


async def test_a_worktree_of_a_key_is_of_a_repository_below_its_folder(server: Keyed, tmp_path: Path) -> None:
    _, key = await server.key("red")
    one, outer = tmp_path / "projects" / "one", tmp_path / "outer"
    for folder in (one, outer):
        folder.mkdir(exist_ok=True)
        git(folder, "init", "-q")
        git(folder, "commit", "-qm", "first", "--allow-empty")
    git(outer, "worktree", "add", "-q", str(tmp_path / "projects" / "linked"))
    assert (await created(key, "yes", directory=str(one), worktree=True)).status_code == 200
    (one / ".git" / "objects" / "info").mkdir(exist_ok=True)
    (one / ".git" / "objects" / "info" / "alternates").write_text(f"{outer}/.git/objects\n")
    for refused in (one, tmp_path / "projects" / "linked"):
        answer = await created(key, "no", directory=str(refused), worktree=True)
        assert (answer.status_code, answer.json()["field"]) == (403, "worktree"), refused
    answer = await key.delete("/v1/sessions/yes/worktree")
    assert answer.status_code == 204
