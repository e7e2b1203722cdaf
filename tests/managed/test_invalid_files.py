"""Invalid files, mounts, skills and outputs are refused or reported."""

import io
import os
import zipfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from pathlib import Path

import msgspec
import pytest

from everyagent.errors import BadRequest, Conflict, SessionNotFound
from everyagent.managed import Managed
from everyagent.managed.resources.agents.shape import AgentCreate, SkillParams
from everyagent.managed.resources.environments.shape import EnvironmentCreate
from everyagent.managed.resources.files.shape import File, FileListQuery
from everyagent.managed.resources.skills.bundle import packed, unpack
from everyagent.managed.resources.vaults.shape import BearerCreate, VariableCreate
from everyagent.managed.sessions.shape import SessionCreate
from everyagent.managed.workspace.shape import OUTPUTS, FileParams
from tests.managed import services

SKILL = b"---\nname: tidy\ndescription: Tidies.\n---\n"
SESSION = "sesn_1"


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Managed]:
    async with services.managed(tmp_path) as managed:
        yield managed


async def uploaded(on: Managed, name: str | None, media_type: str | None = None) -> File:
    async def pieces() -> AsyncIterator[bytes]:
        yield b"content"

    async with on.files.upload(pieces()) as upload:
        return await on.files.add(upload, name, media_type)


@pytest.mark.parametrize("name", [None, ""])
@pytest.mark.parametrize(("media_type", "called"), [("text/csv", "unnamed.csv"), (None, "unnamed")])
async def test_a_file_without_a_name_is_named_after_its_type(
    on: Managed, name: str | None, media_type: str | None, called: str
) -> None:
    assert (await uploaded(on, name, media_type)).filename == called


async def test_a_file_name_too_long_for_the_disk_is_shortened(on: Managed) -> None:
    file = await uploaded(on, "ü" * 250 + ".csv")
    _, path = await on.files.path(file.id)
    assert path.read_bytes() == b"content"
    assert path.suffix == ".csv"


@pytest.mark.parametrize("path", ["/" + "ü" * 128, "/" + "x" * 256, "/x" * 513, "/mnt/session/uploads", "/mnt"])
async def test_an_invalid_mount_path_is_refused(on: Managed, path: str) -> None:
    file = await uploaded(on, "a")
    with pytest.raises(BadRequest):
        await on.resources.give(SESSION, [FileParams(file_id=file.id, mount_path=path)])
    assert await on.resources.of(SESSION) == []


@pytest.mark.parametrize("paths", [("/a", "/a/b"), ("/a/b", "/a")])
async def test_nothing_is_mounted_below_a_file(on: Managed, paths: tuple[str, str]) -> None:
    file = await uploaded(on, "a")
    with pytest.raises(BadRequest, match=r"'/a.* and '/a"):
        await on.resources.give(SESSION, [FileParams(file_id=file.id, mount_path=path) for path in paths])


async def test_a_blocked_mount_path_affects_only_its_own_file(on: Managed) -> None:
    file = await uploaded(on, "a")
    await on.resources.give(SESSION, [FileParams(file_id=file.id, mount_path="/data/in")])
    (on.workspaces.directory(SESSION) / "data").write_text("the agent's own")
    prepared = await on.workspaces.prepare(SESSION, await services.agent(on), await services.environment(on), [])
    assert prepared.problems == ["nothing could be laid at /data/in: Not a directory"]


async def test_a_file_that_cannot_be_mounted_is_not_added(on: Managed) -> None:
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small"))
    place = await on.environments.create(EnvironmentCreate(name="e"))
    session = await on.managed_sessions.create(SessionCreate(agent=agent.id, environment_id=place.id))
    file = await uploaded(on, "a")
    (on.workspaces.directory(session.id) / "data").write_text("the agent's own")
    with pytest.raises(Conflict, match="/data/in"):
        await on.give_file(session.id, FileParams(file_id=file.id, mount_path="/data/in"))
    assert await on.resources.of(session.id) == []
    await on.managed_sessions.archive(session.id)
    with pytest.raises(BadRequest, match="ended"):
        await on.give_file(session.id, FileParams(file_id=file.id))
    with pytest.raises(SessionNotFound):
        await on.give_file("sesn_no", FileParams(file_id=file.id))


def zipped(files: Mapping[str, bytes]) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return held.getvalue()


def test_an_archive_that_is_damaged_is_refused() -> None:
    whole = zipped({"s/SKILL.md": SKILL, "s/a": os.urandom(2000).hex().encode()})
    for place in range(30, len(whole), 97):
        damaged = bytearray(whole)
        damaged[place] ^= 0xFF
        try:
            packed({"s.zip": bytes(damaged)})
        except BadRequest:
            continue


@pytest.mark.parametrize("files", [{"s/a": b"", "s/a/b": b""}, {f"s/{'ü' * 128}": b""}])
def test_a_skill_that_cannot_be_stored_is_refused(files: dict[str, bytes]) -> None:
    with pytest.raises(BadRequest):
        packed({"s/SKILL.md": SKILL, **files})


def test_files_of_a_skill_may_come_without_their_folder(tmp_path: Path) -> None:
    skill = packed({"SKILL.md": SKILL, "examples/a.md": b"An example"})
    unpack(skill.archive, tmp_path / "tidy")
    assert (tmp_path / "tidy" / "SKILL.md").read_bytes() == SKILL
    assert (tmp_path / "tidy" / "examples" / "a.md").read_bytes() == b"An example"
    for path in ("/etc/passwd", "../a"):
        with pytest.raises(BadRequest):
            packed({"SKILL.md": SKILL, path: b""})


def test_extra_files_of_macos_and_windows_in_a_skill_are_ignored() -> None:
    archive = zipped({"__MACOSX/s/._SKILL.md": b"x", "s/SKILL.md": b"\xef\xbb\xbf" + SKILL.replace(b"\n", b"\r\n")})
    assert packed({"s.zip": archive}).name == "tidy"


async def test_a_skill_that_cannot_be_installed_is_reported(on: Managed) -> None:
    skill = await on.skills.create(packed({"s/SKILL.md": SKILL}), None)
    (on.workspaces.directory(SESSION) / ".claude").write_text("the agent's own")
    agent = await services.agent(on, skills=[SkillParams(type="custom", skill_id=skill.id)])
    prepared = await on.workspaces.prepare(SESSION, agent, await services.environment(on), [])
    assert prepared.problems == ["the skill tidy could not be laid out: Not a directory"]


async def test_an_output_whose_name_is_not_utf8_is_listed(on: Managed) -> None:
    on.workspaces.directory(SESSION)
    folder = os.fsencode(on.workspaces.place(SESSION, OUTPUTS))
    for name in (b"bad\xffname", b"plain"):
        Path(os.fsdecode(folder + b"/" + name)).write_bytes(b"1")
    for _ in range(2):
        listed = await on.list_files(FileListQuery(scope_id=SESSION))
        assert sorted(file.filename for file in listed.data) == ["bad%ffname", "plain"]


@pytest.mark.parametrize(
    ("kind", "auth"),
    [
        (VariableCreate, {"type": "environment_variable", "secret_name": "A", "secret_value": "a\0b"}),
        (BearerCreate, {"type": "static_bearer", "mcp_server_url": "https://a.test", "token": "copied with its end\n"}),
    ],
)
def test_a_secret_with_control_characters_is_refused(kind: type[msgspec.Struct], auth: dict[str, str]) -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({**auth, "networking": {"type": "unrestricted"}}, kind)


async def test_a_skill_without_versions_is_refused(on: Managed) -> None:
    skill = await on.skills.create(packed({"s/SKILL.md": SKILL}), None)
    await on.skills.delete_version(skill.id, "latest")
    with pytest.raises(BadRequest, match="all were deleted"):
        await services.agent(on, skills=[SkillParams(type="custom", skill_id=skill.id)])
