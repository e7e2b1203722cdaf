"""Finding and fetching the program, and its state in the API."""

import hashlib
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest
from tests.agents.collecting_listener import CollectingListener
from tests.agents.registry import executable, npm_with

from everyagent.agents import packages
from everyagent.agents.adapter import Launch
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.codex import program
from everyagent.agents.codex.adapter import CodexAdapter
from everyagent.agents.packages import Program
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed, AgentNotInstalled

SCRIPT = f"#!/bin/sh\necho 'codex-cli {program.TESTED_VERSION}'\n"
ROOT = "package/vendor/here"
FILES = {f"{ROOT}/bin/codex": SCRIPT, f"{ROOT}/path/rg": "#!/bin/sh\n", "package/README.md": "Read me"}


@asynccontextmanager
async def adapter(folder: Path, **environment: str) -> AsyncGenerator[CodexAdapter]:
    async with anyio.create_task_group() as tasks:
        made = CodexAdapter(
            AdapterContext(
                TaskSupervisor(tasks), folder, environment={"PATH": "/nowhere", "HOME": str(folder), **environment}
            )
        )
        try:
            yield made
        finally:
            await made.close()


def launch(folder: Path) -> Launch:
    return Launch(session_id="s", directory=folder, scratch=folder, permission_mode="default", agent_mode="build")


def wanted(**fields: object) -> Program:
    digest = hashlib.sha256(SCRIPT.encode()).hexdigest()
    given = {"package": "@x/codex", "version": "0.166.0-here", "member": f"{ROOT}/bin/codex", "root": ROOT}
    return Program(**{**given, "size": len(SCRIPT), "sha256": digest, **fields})  # pyright: ignore[reportArgumentType]


async def test_the_pinned_version_is_installed_with_its_own_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = npm_with(FILES, tmp_path, monkeypatch)
    monkeypatch.setattr(CodexAdapter, "identity", program.IDENTITY._replace(pinned=wanted))
    async with adapter(tmp_path / "agents") as made:
        assert not (await made.state()).installed
        state = await made.install(reinstall=False)
        await made.install(reinstall=False)
    home = tmp_path / "agents" / "codex" / "0.166.0-here"
    assert state.path == str(home / "bin" / "codex")
    assert (state.installed, state.version, state.problem) == (True, program.TESTED_VERSION, None)
    assert sorted(str(path.relative_to(home)) for path in home.rglob("*") if path.is_file()) == ["bin/codex", "path/rg"]
    assert asked.read_text() == "@x/codex@0.166.0-here\n"


async def test_installing_again_replaces_all_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm_with(FILES, tmp_path, monkeypatch)
    path = packages.install(wanted(), tmp_path / "agents")
    path.write_text("spoilt")
    (path.parent / "stray").touch()
    assert packages.install(wanted(), tmp_path / "agents", reinstall=True) == path
    assert path.read_text() == SCRIPT
    assert not (path.parent / "stray").exists()


@pytest.mark.parametrize("wrong", [{"size": 1}, {"sha256": "0" * 64}, {"member": f"{ROOT}/bin/other"}])
def test_a_program_with_another_checksum_is_not_installed(
    wrong: dict[str, object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    npm_with(FILES, tmp_path, monkeypatch)
    with pytest.raises(AgentFailed):
        packages.install(wanted(**wrong), tmp_path / "agents")
    assert [each.name for each in (tmp_path / "agents").iterdir()] == [".lock"]


async def test_an_untested_version_works_and_is_reported(tmp_path: Path) -> None:
    named = executable(tmp_path / "codex", "#!/bin/sh\necho 'codex-cli 9.9.9'\n")
    async with adapter(tmp_path, EVERYAGENT_CODEX_BIN=str(named)) as made:
        state = await made.state()
    assert (state.installed, state.version, state.tested_version) == (True, "9.9.9", program.TESTED_VERSION)
    assert "9.9.9" in (state.problem or "")


async def test_a_session_without_the_program_gets_a_remedy(tmp_path: Path) -> None:
    async with adapter(tmp_path) as made:
        assert not (await made.state()).installed
        with pytest.raises(AgentNotInstalled, match="everyagent agents install codex"):
            await made.open(launch(tmp_path), CollectingListener())


async def test_an_app_server_that_does_not_start_is_reported_with_its_message(tmp_path: Path) -> None:
    named = executable(tmp_path / "codex", "#!/bin/sh\necho 'the flux is low' >&2\nexit 7\n")
    async with adapter(tmp_path, EVERYAGENT_CODEX_BIN=str(named)) as made:
        with pytest.raises(AgentFailed, match="the flux is low"):
            await made.open(launch(tmp_path), CollectingListener())
