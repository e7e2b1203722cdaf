"""The workspace of a managed session: files, repositories, skills, packages, credentials."""

import errno
import os
import stat
import subprocess
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from everyagent.errors import BadRequest, NotFound
from everyagent.managed import Managed
from everyagent.managed.resources.agents.shape import SkillParams
from everyagent.managed.resources.environments.shape import PackagesParams
from everyagent.managed.resources.files.shape import File, FileListQuery
from everyagent.managed.resources.files.store import KnownOutput
from everyagent.managed.resources.skills.bundle import packed
from everyagent.managed.resources.vaults.shape import (
    BasicAuthParams,
    BearerCreate,
    CredentialCreate,
    Everywhere,
    OauthCreate,
    RefreshParams,
    VariableCreate,
    VaultCreate,
)
from everyagent.managed.workspace.shape import (
    BranchCheckout,
    CommitCheckout,
    FileParams,
    MemoryStoreParams,
    RepositoryParams,
    RepositoryResource,
)
from everyagent.model.tools import McpRemote
from tests.managed import services
from tests.managed.git_stage import TOKEN, git_stage
from tests.managed.mcp_stage import mcp_stage

SESSION = "sesn_1"
SKILL = b"---\nname: tidy\ndescription: Tidies.\n---\n"


@pytest.fixture
async def managed(tmp_path: Path) -> AsyncIterator[Managed]:
    async with services.managed(tmp_path) as managed:
        yield managed


async def uploaded(managed: Managed, name: str, content: bytes) -> File:
    async def pieces() -> AsyncIterator[bytes]:
        yield content

    async with managed.files.upload(pieces()) as upload:
        return await managed.files.add(upload, name, None)


async def test_files_are_mounted_read_only_at_their_paths(managed: Managed) -> None:
    file = await uploaded(managed, "data.csv", b"a,b\n")
    given = await managed.resources.give(
        SESSION, [FileParams(file_id=file.id), FileParams(file_id=file.id, mount_path="/workspace/in/data.csv")]
    )
    await managed.files.delete(file.id)
    prepared = await managed.workspaces.prepare(
        SESSION, await services.agent(managed), await services.environment(managed), []
    )
    first = prepared.directory / "mnt/session/uploads" / file.id
    second = prepared.directory / "workspace/in/data.csv"
    for path in (first, second):
        assert path.read_bytes() == b"a,b\n"
        assert stat.S_IMODE(path.stat().st_mode) == 0o444
        assert str(path) in prepared.note
    assert [resource.mount_path for resource in given] == [f"/mnt/session/uploads/{file.id}", "/workspace/in/data.csv"]
    copies = (await managed.files.list(FileListQuery(scope_id=SESSION))).data
    assert file.id not in [copy.id for copy in copies]
    assert len(copies) == 2
    await managed.workspaces.remove(SESSION)
    assert not prepared.directory.exists()
    assert (await managed.files.list(FileListQuery(scope_id=SESSION))).data == []
    assert await managed.resources.of(SESSION) == []


@pytest.mark.parametrize("mount", ["../up", "/", "/a/../b", "/mnt/session/outputs/x", "/mnt/session/outputs", "/a\n/b"])
async def test_an_invalid_mount_path_makes_no_file(managed: Managed, mount: str) -> None:
    file = await uploaded(managed, "x", b"")
    with pytest.raises(BadRequest):
        await managed.resources.give(SESSION, [FileParams(file_id=file.id, mount_path=mount)])
    assert (await managed.files.list(FileListQuery(scope_id=SESSION))).data == []


async def test_a_session_gets_all_its_resources_or_none(managed: Managed) -> None:
    file = await uploaded(managed, "x", b"")
    twice = FileParams(file_id=file.id, mount_path="/workspace/x")
    for wrong in (twice, FileParams(file_id="file_nobody"), MemoryStoreParams(memory_store_id="memstore_1")):
        with pytest.raises((BadRequest, NotFound)):
            await managed.resources.give(SESSION, [twice, wrong])
        assert await managed.resources.of(SESSION) == []


async def test_repositories_are_cloned_and_their_token_is_not_stored(managed: Managed, tmp_path: Path) -> None:
    with git_stage(tmp_path / "git") as (url, first):
        private = f"{url}/private/project.git"
        await managed.resources.give(
            SESSION,
            [
                RepositoryParams(url=private, authorization_token=TOKEN),
                RepositoryParams(
                    url=private,
                    authorization_token=TOKEN,
                    checkout=CommitCheckout(sha=first),
                    mount_path="/workspace/then",
                ),
                RepositoryParams(
                    url=private,
                    authorization_token=TOKEN,
                    checkout=BranchCheckout(name="next"),
                    mount_path="/workspace/next",
                ),
            ],
        )
        prepared = await managed.workspaces.prepare(
            SESSION, await services.agent(managed), await services.environment(managed), []
        )
    assert prepared.repositories == []
    workspace = prepared.directory / "workspace"
    assert (workspace / "project/README.md").read_text() == "second\n"
    assert (workspace / "then/README.md").read_text() == "first\n"
    assert (workspace / "next/README.md").read_text() == "first\n"
    assert TOKEN not in repr(await managed.resources.of(SESSION))
    kept = [path.read_bytes() for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert not [content for content in kept if TOKEN.encode() in content]


async def test_a_failed_clone_is_reported_with_its_error_type(managed: Managed, tmp_path: Path) -> None:
    with git_stage(tmp_path / "git") as (url, _):
        asked = {
            "repository_authentication_error": RepositoryParams(
                url=f"{url}/private/project.git", authorization_token="wrong-token", mount_path="/workspace/a"
            ),
            "repository_forbidden_error": RepositoryParams(url=f"{url}/forbidden/p.git", mount_path="/workspace/b"),
            "repository_not_found_error": RepositoryParams(url=f"{url}/nobody.git", mount_path="/workspace/c"),
            "repository_checkout_error": RepositoryParams(
                url=f"{url}/private/project.git",
                authorization_token=TOKEN,
                checkout=BranchCheckout(name="nowhere"),
                mount_path="/workspace/d",
            ),
            "repository_clone_error": RepositoryParams(url="http://127.0.0.1:1/x.git", mount_path="/workspace/e"),
        }
        await managed.resources.give(SESSION, [*asked.values()])
        prepared = await managed.workspaces.prepare(
            SESSION, await services.agent(managed), await services.environment(managed), []
        )
        assert [problem.type for problem in prepared.repositories] == [*asked]
        assert "wrong-token" not in repr(prepared.repositories)
        assert not (prepared.directory / "workspace").exists()
        assert os.listdir(prepared.directory.parent) == [SESSION]
        broken = (await managed.resources.of(SESSION))[0]
        assert isinstance(broken, RepositoryResource)
        await managed.resources.change_token(SESSION, broken.id, TOKEN)
        assert await managed.workspaces.lay_out(SESSION, broken) is None
        assert (prepared.directory / "workspace/a/README.md").exists()


async def test_skills_are_installed_where_agents_look_for_them(managed: Managed) -> None:
    skill = await managed.skills.create(packed({"t/SKILL.md": SKILL, "t/run.sh": b"echo"}), None)
    agent = await services.agent(
        managed,
        skills=[
            SkillParams(type="custom", skill_id=skill.id),
            SkillParams(type="anthropic", skill_id="pptx", version="1"),
        ],
    )
    prepared = await managed.workspaces.prepare(SESSION, agent, await services.environment(managed), [])
    for folder in (".claude/skills", ".agents/skills"):
        assert (prepared.directory / folder / "tidy/SKILL.md").read_bytes() == SKILL
        assert (prepared.directory / folder / "tidy/run.sh").exists()
    assert "tidy: Tidies." in prepared.note
    assert ["pptx" in problem for problem in prepared.problems] == [True]


async def test_packages_are_available_to_every_session_of_an_environment(managed: Managed) -> None:
    environment = await services.environment(managed, PackagesParams(pip=["iniconfig==2.3.0"]))
    agent = await services.agent(managed)
    prepared = await managed.workspaces.prepare(SESSION, agent, environment, [])
    assert prepared.problems == []
    found = subprocess.run(
        ["python3", "-c", "import iniconfig; print(iniconfig.__file__)"],
        env=prepared.env,
        capture_output=True,
        text=True,
        check=True,
    )
    assert str(managed.sessions.services.folder) in found.stdout
    again = await managed.workspaces.prepare("sesn_2", agent, environment, [])
    assert again.env == prepared.env


async def test_a_package_that_cannot_be_installed_is_reported(managed: Managed) -> None:
    environment = await services.environment(managed, PackagesParams(pip=["no-such-package-anywhere-1234==9"]))
    prepared = await managed.workspaces.prepare(SESSION, await services.agent(managed), environment, [])
    assert "no-such-package-anywhere-1234" in prepared.problems[0]
    assert "PATH" not in prepared.env


async def test_credentials_reach_only_their_servers_and_variables(managed: Managed) -> None:
    with mcp_stage() as stage:
        vault = await managed.vaults.create(VaultCreate(display_name="v"))
        second = await managed.vaults.create(VaultCreate(display_name="w"))
        variable = VariableCreate(secret_name="KEY", secret_value="one", networking=Everywhere())
        await managed.credentials.create(vault.id, CredentialCreate(auth=variable))
        other = VariableCreate(secret_name="KEY", secret_value="two", networking=Everywhere())
        await managed.credentials.create(second.id, CredentialCreate(auth=other))
        elsewhere = BearerCreate(mcp_server_url="https://elsewhere.example/mcp", token="not-for-you")
        await managed.credentials.create(second.id, CredentialCreate(auth=elsewhere))
        refresh = RefreshParams(
            token_endpoint=f"{stage.url}/token",
            client_id="me",
            refresh_token="refresh-1",
            token_endpoint_auth=BasicAuthParams(client_secret="hush"),
        )
        ends = datetime.now(UTC) + timedelta(seconds=1)
        oauth = OauthCreate(mcp_server_url=f"{stage.url}/mcp", access_token="old", expires_at=ends, refresh=refresh)
        await managed.credentials.create(vault.id, CredentialCreate(auth=oauth))
        agent = await services.agent(managed, mcp=f"{stage.url}/mcp")
        environment = await services.environment(managed)
        for _ in range(2):
            prepared = await managed.workspaces.prepare(SESSION, agent, environment, [vault.id, second.id])
            assert prepared.env == {"KEY": "one"}
            bearer = {"Authorization": "Bearer fresh-1"}
            assert prepared.mcp == {"docs": McpRemote(url=f"{stage.url}/mcp", headers=bearer)}
        assert len(stage.renewals) == 1, "renewed once, and good for an hour"
    await managed.vaults.archive(vault.id)
    without = await managed.workspaces.prepare(SESSION, agent, environment, [vault.id, second.id])
    assert (without.env, len(without.problems)) == ({"KEY": "two"}, 1)


async def test_outputs_are_files_of_the_session(managed: Managed, tmp_path: Path) -> None:
    folder = managed.workspaces.directory(SESSION) / "mnt/session/outputs"
    (folder / "sub").mkdir()
    (folder / "sub/report.md").write_text("one")
    (tmp_path / "secret").write_text("nobody's")
    (folder / "link").symlink_to(tmp_path / "secret")
    os.mkfifo(folder / "pipe")
    (first,) = (await managed.list_files(FileListQuery(scope_id=SESSION))).data
    assert (first.filename, first.mime_type, first.size_bytes) == ("report.md", "text/markdown", 3)
    assert first.scope is not None
    assert first.scope.id == SESSION
    assert (await managed.list_files(FileListQuery(scope_id=SESSION))).data == [first], "unchanged, it is the same file"
    (folder / "sub/report.md").write_text("other")
    (second,) = (await managed.list_files(FileListQuery(scope_id=SESSION))).data
    assert second.id != first.id
    _, content = await managed.files.open(second.id)
    with content:
        assert content.read() == b"other"


@pytest.mark.parametrize("session_id", ["..", "../data", "a/b", ""])
async def test_a_session_id_with_a_path_is_refused(managed: Managed, session_id: str) -> None:
    with pytest.raises(NotFound):
        managed.workspaces.place(session_id, "/mnt")


async def test_an_outputs_folder_replaced_by_a_link_lists_no_files(managed: Managed, tmp_path: Path) -> None:
    root = managed.workspaces.directory(SESSION)
    (root / "mnt/session/outputs").rmdir()
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/secret").write_text("nobody's")
    (root / "mnt/session/outputs").symlink_to(tmp_path / "elsewhere")
    assert (await managed.list_files(FileListQuery(scope_id=SESSION))).data == []


async def test_outputs_are_not_read_through_a_folder_that_becomes_a_link(
    managed: Managed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the listing and the opening of its files."""
    folder = managed.workspaces.directory(SESSION) / "mnt/session/outputs"
    for place in (folder / "sub", tmp_path / "elsewhere"):
        place.mkdir()
        (place / "report").write_text("nobody's")
    outputs = managed.files.outputs

    async def replaced(session_id: str) -> dict[str, KnownOutput]:
        if not (folder / "sub").is_symlink():
            (folder / "sub").rename(tmp_path / "moved")
            (folder / "sub").symlink_to(tmp_path / "elsewhere")
        return await outputs(session_id)

    monkeypatch.setattr(managed.files, "outputs", replaced)
    assert (await managed.list_files(FileListQuery(scope_id=SESSION))).data == []
    assert (folder / "sub").is_symlink()


async def test_files_are_neither_mounted_nor_taken_back_through_a_link(managed: Managed, tmp_path: Path) -> None:
    file = await uploaded(managed, "data.csv", b"a,b\n")
    (given,) = await managed.resources.give(SESSION, [FileParams(file_id=file.id)])
    uploads, elsewhere = managed.workspaces.directory(SESSION) / "mnt/session/uploads", tmp_path / "elsewhere"
    elsewhere.mkdir()
    uploads.rmdir()
    uploads.symlink_to(elsewhere)
    prepared = await managed.workspaces.prepare(
        SESSION, await services.agent(managed), await services.environment(managed), []
    )
    assert [each for each in prepared.problems if given.mount_path in each]
    assert list(elsewhere.iterdir()) == []
    (elsewhere / file.id).write_text("nobody's")
    await managed.workspaces.take_back(SESSION, given)
    assert (elsewhere / file.id).read_text() == "nobody's"


async def test_repositories_are_not_cloned_through_a_link(managed: Managed, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (managed.workspaces.directory(SESSION) / "workspace").symlink_to(tmp_path / "elsewhere")
    with git_stage(tmp_path / "git") as (url, _):
        project = RepositoryParams(url=f"{url}/private/project.git", authorization_token=TOKEN)
        await managed.resources.give(SESSION, [project])
        prepared = await managed.workspaces.prepare(
            SESSION, await services.agent(managed), await services.environment(managed), []
        )
    assert [problem.type for problem in prepared.repositories] == ["repository_checkout_error"]
    assert list((tmp_path / "elsewhere").iterdir()) == []


async def test_a_workspace_that_cannot_be_removed_is_logged(
    managed: Managed, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = managed.workspaces.place(SESSION, "/")
    folder.mkdir(parents=True)
    (folder / "file").write_text("x")
    rmdir = os.rmdir

    def busy(path: str, *, dir_fd: int) -> None:
        if path == SESSION:
            raise OSError(errno.EBUSY, "busy in this test")
        rmdir(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "rmdir", busy)
    await managed.workspaces.remove(SESSION)
    assert list(folder.iterdir()) == []
    assert "busy in this test" in capsys.readouterr().err
