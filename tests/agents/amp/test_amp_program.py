"""Discovery, installation, arguments and state of the Amp program."""

import os
import stat
import subprocess
import tarfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.agents.collecting_listener import CollectingListener

from everyagent.agents.adapter import Change, Launch, Prompt
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.amp import launch as launching
from everyagent.agents.amp import program
from everyagent.agents.amp.adapter import AmpAdapter
from everyagent.agents.amp.launch import AmpFiles, HookAddress
from everyagent.agents.packages import Program
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed, AgentNotInstalled, AgentNotLoggedIn
from everyagent.model.asks import PermissionAnswer, QuestionAnswer
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.tools import CustomTool, McpLocal, McpRemote

SCRIPT = f"#!/bin/sh\necho '{program.TESTED_VERSION}'\n"
DOOR = HookAddress(socket=Path("/run/gate"), token="a-secret-token")


def executable(path: Path, text: str = SCRIPT) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def launch(folder: Path, **fields: object) -> Launch:
    given: dict[str, object] = {
        "session_id": "s",
        "directory": folder,
        "scratch": folder / "scratch",
        "permission_mode": "default",
        "agent_mode": "build",
    }
    return Launch(**{**given, **fields})  # pyright: ignore[reportArgumentType]


@asynccontextmanager
async def adapter(folder: Path, **environment: str) -> AsyncGenerator[AmpAdapter]:
    async with anyio.create_task_group() as tasks:
        made = AmpAdapter(
            AdapterContext(
                TaskSupervisor(tasks), folder, environment={"PATH": "/bin", "HOME": str(folder), **environment}
            )
        )
        try:
            yield made
        finally:
            await made.close()


# -- arguments, environment, files --------------------------------------------------------------------------------


def test_the_settings_of_a_session_become_arguments(tmp_path: Path) -> None:
    files = AmpFiles(settings=tmp_path / "s.json", mcp=tmp_path / "mcp.json")
    words = launching.argv("amp", launch(tmp_path, variant="high"), files, "T-1")
    assert words[:5] == ["amp", "threads", "continue", "T-1", "-x"]
    joined = " ".join(words)
    for part in (
        "--mode high",
        f"--settings-file {files.settings}",
        f"--mcp-config {files.mcp}",
        "--stream-json-input",
    ):
        assert part in joined
    fresh = launching.argv("amp", launch(tmp_path), AmpFiles(settings=tmp_path, mcp=None), None)
    assert "continue" not in fresh
    assert fresh[fresh.index("--mode") + 1] == "medium"
    assert "--mcp-config" not in fresh


def test_the_environment_has_account_variables_and_none_of_the_daemons(tmp_path: Path) -> None:
    source = {
        "PATH": "/bin",
        "AMP_API_KEY": "key",
        "AMP_SETTINGS_FILE": "/mine",
        "HTTPS_PROXY": "http://proxy",
        "EVERYAGENT_TOKEN": "secret",
        "DATABASE_URL": "secret",
    }
    environment = launching.environment(launch(tmp_path, env={"AMP_API_KEY": "its own"}), source)
    assert environment["AMP_API_KEY"] == "its own"
    assert environment["HTTPS_PROXY"] == "http://proxy"
    assert not {"EVERYAGENT_TOKEN", "DATABASE_URL"} & set(environment)


def test_the_files_of_a_session_are_accessible_only_to_their_owner(tmp_path: Path) -> None:
    given = launch(
        tmp_path,
        mcp={
            "local": McpLocal(command=["python3", "a server.py"], env={"KEY": "v"}, cwd="/a b"),
            "remote": McpRemote(url="http://127.0.0.1:1/mcp", headers={"x": "y"}),
            "off": McpRemote(url="http://127.0.0.1:2/mcp", enabled=False),
        },
        tools=[CustomTool(name="weather")],
        tools_url="http://127.0.0.1:3/mcp",
        tools_token="secret",
    )
    files = launching.prepare(given, {"HOME": str(tmp_path), "AMP_API_KEY": "k"}, "default", UNRESTRICTED, DOOR)
    assert files.mcp
    servers = msgspec.json.decode(files.mcp.read_bytes())
    assert set(servers) == {"local", "remote", "everyagent"}
    assert servers["local"]["args"] == ["-c", "cd '/a b' && exec python3 'a server.py'"]
    assert servers["everyagent"]["headers"] == {"Authorization": "Bearer secret"}
    folder = launching.folder_of(given)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()}
    assert modes == {
        "settings.json": 0o600,
        "mcp.json": 0o600,
        "hook-token": 0o600,
        "allowed": 0o700,
        "asked": 0o700,
        "unsettled": 0o700,
    }
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    words = " ".join(launching.argv("amp", given, files, None))
    assert "secret" not in words


def test_the_hook_rejects_if_the_daemon_is_unreachable(tmp_path: Path) -> None:
    launching.prepare(launch(tmp_path), {"HOME": str(tmp_path), "AMP_API_KEY": "k"}, "default", UNRESTRICTED, DOOR)
    script = launching.folder_of(launch(tmp_path)) / "asked"
    done = subprocess.run([script], input=b"{}", env={"AMP_API_KEY": "k"}, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"daemon is away" in done.stderr


@pytest.mark.parametrize("extra", [{}, {"XDG_DATA_HOME": "data"}])
def test_a_session_without_a_login_is_refused(tmp_path: Path, extra: dict[str, str]) -> None:
    environment = {"HOME": str(tmp_path), **{name: str(tmp_path / value) for name, value in extra.items()}}
    with pytest.raises(AgentNotLoggedIn, match="agents login amp"):
        launching.prepare(launch(tmp_path), environment, "default", UNRESTRICTED, DOOR)
    stored = tmp_path / extra.get("XDG_DATA_HOME", ".local/share") / "amp"
    stored.mkdir(parents=True)
    (stored / "secrets.json").write_text('{"apiKey@https://ampcode.com/": "sgamp"}')
    launching.prepare(launch(tmp_path), environment, "default", UNRESTRICTED, DOOR)
    elsewhere = {**environment, "AMP_URL": "https://elsewhere/"}
    with pytest.raises(AgentNotLoggedIn):
        launching.prepare(launch(tmp_path), elsewhere, "default", UNRESTRICTED, DOOR)


def test_the_login_is_looked_up_for_the_server_of_the_users_settings(tmp_path: Path) -> None:
    (tmp_path / ".config" / "amp").mkdir(parents=True)
    (tmp_path / ".config" / "amp" / "settings.json").write_text('{"amp.url": "https://amp.example.com"}')
    stored = tmp_path / ".local" / "share" / "amp"
    stored.mkdir(parents=True)
    (stored / "secrets.json").write_text('{"apiKey@https://amp.example.com/": "sgamp"}')
    launching.prepare(launch(tmp_path), {"HOME": str(tmp_path)}, "default", UNRESTRICTED, DOOR)


# -- discovery, installation, state -------------------------------------------------------------------------------


async def test_the_configured_program_precedes_the_path_and_the_installed_one(tmp_path: Path) -> None:
    ours = executable(tmp_path / "amp" / program.TESTED_VERSION / "amp")
    on_path = executable(tmp_path / "bin" / "amp")
    named = executable(tmp_path / "elsewhere" / "my-amp")
    async with adapter(tmp_path) as first:
        state = await first.state()
    assert (state.path, state.version, state.problem) == (str(ours), program.TESTED_VERSION, None)
    async with adapter(tmp_path, PATH=f"{tmp_path / 'bin'}:/bin") as second:
        assert (await second.state()).path == str(on_path)
    async with adapter(tmp_path, PATH=f"{tmp_path / 'bin'}:/bin", EVERYAGENT_AMP_BIN=str(named)) as third:
        assert (await third.state()).path == str(named)


async def test_the_real_program_reports_its_version(binary: str, tmp_path: Path) -> None:
    async with adapter(tmp_path, EVERYAGENT_AMP_BIN=binary, AMP_API_KEY="sgamp_secret") as made:
        state, catalog = await made.state(), await made.catalog()
    assert (state.version, state.problem, state.login) == (program.TESTED_VERSION, None, "AMP_API_KEY")
    assert catalog.models[0].variants == ["low", "medium", "high", "ultra"]
    assert [mode.id for mode in catalog.permission_modes] == ["default", "plan", "acceptEdits", "bypass"]


async def test_a_session_without_the_program_gets_a_remedy(tmp_path: Path) -> None:
    async with adapter(tmp_path, PATH="/nowhere") as made:
        assert not (await made.state()).installed
        with pytest.raises(AgentNotInstalled, match="everyagent agents install amp"):
            await made.open(launch(tmp_path), CollectingListener())


async def test_installing_downloads_the_pinned_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert program.pinned().version == "0.0.1790142911-g7618fb"
    assert program.pinned().package.startswith("@ampcode/cli-")
    packed = executable(tmp_path / "registry" / "amp")
    with tarfile.open(tmp_path / "registry" / "it.tgz", "w:gz") as archive:
        archive.add(packed, "package/amp")
    asked = tmp_path / "registry" / "asked"
    executable(
        tmp_path / "npm" / "npm",
        f'#!/bin/sh\necho "$2" >> {asked}\nwhile [ "$1" != --pack-destination ]; do shift; done\n'
        f'cp {tmp_path}/registry/it.tgz "$2"/\n',
    )
    monkeypatch.setenv("PATH", f"{tmp_path / 'npm'}:{os.environ['PATH']}")
    wanted = Program(package="@ampcode/cli-linux-x64", version=program.TESTED_VERSION, member="package/amp")
    monkeypatch.setattr(AmpAdapter, "identity", program.IDENTITY._replace(pinned=lambda: wanted))
    async with adapter(tmp_path / "agents", PATH="/nowhere") as made:
        state = await made.install(reinstall=False)
    assert state.path == str(tmp_path / "agents" / "amp" / program.TESTED_VERSION / "amp")
    assert asked.read_text() == f"@ampcode/cli-linux-x64@{program.TESTED_VERSION}\n"


# -- conversations with a fake Amp --------------------------------------------------------------------------------


@asynccontextmanager
async def staged(folder: Path, script: str) -> AsyncGenerator[tuple[AmpAdapter, CollectingListener]]:
    named = executable(folder / "bin" / "amp", script)
    async with adapter(folder, EVERYAGENT_AMP_BIN=str(named), AMP_API_KEY="k") as made:
        yield made, CollectingListener()


async def test_a_failed_start_is_reported_with_stderr(tmp_path: Path) -> None:
    async with staged(tmp_path, "#!/bin/sh\necho 'the flux is low' >&2\nexit 7\n") as (made, listener):
        await made.open(launch(tmp_path), listener)
        death = await listener.death()
    assert (death.exit_code, death.expected, death.code) == (7, False, None)
    assert death.stderr
    assert death.stderr.head == "the flux is low"
    assert "the flux is low" in (death.message or "")


async def test_an_invalid_key_is_an_auth_error(tmp_path: Path) -> None:
    words = "Error: Invalid or missing API key. Run 'amp login' to authenticate."
    async with staged(tmp_path, f'#!/bin/sh\necho "{words}" >&2\nexit 1\n') as (made, listener):
        await made.open(launch(tmp_path), listener)
        death = await listener.death()
    assert death.code == "auth"
    assert "AMP_API_KEY" in (death.message or "")


async def test_a_program_that_asks_for_a_login_is_ended_with_an_auth_error(tmp_path: Path) -> None:
    async with staged(tmp_path, "#!/bin/sh\necho 'No API key found. Starting login flow...'\nexec sleep 60\n") as (
        made,
        listener,
    ):
        await made.open(launch(tmp_path), listener)
        death = await listener.death()
    assert (death.code, death.history_lost) == ("auth", False)
    assert "not logged in" in (death.message or "")


async def test_a_closed_conversation_reports_one_death_and_refuses_calls(tmp_path: Path) -> None:
    async with staged(tmp_path, "#!/bin/sh\nexec cat >/dev/null\n") as (made, listener):
        conversation = await made.open(launch(tmp_path), listener)
        await conversation.close()
        await conversation.close(force=True)
        with pytest.raises(AgentFailed):
            await conversation.prompt(Prompt(item_id="itm_1", text="Hello"))
        with pytest.raises(AgentFailed):
            await conversation.steer(Prompt(item_id="itm_1", text="Hello"))
        with pytest.raises(AgentFailed):
            await conversation.answer("nobody", PermissionAnswer(reply="once"))
        with pytest.raises(AgentFailed):
            await conversation.answer("nobody", QuestionAnswer(answers=None))
        await conversation.interrupt()
    assert [death.expected for death in listener.deaths] == [True]


async def test_a_prompt_after_the_final_result_starts_a_new_process(tmp_path: Path) -> None:
    """Also if the old process is still running. Its end is not reported as a death."""
    said = '{"type":"result","subtype":"error_during_execution","is_error":true,"error":"Oh","session_id":"T-1"}'
    init = '{"type":"system","subtype":"init","session_id":"T-1"}'
    script = f"#!/bin/sh\necho \"$@\" >> {tmp_path}/starts\nread line\necho '{init}'\necho '{said}'\ncat >/dev/null\n"
    async with staged(tmp_path, script) as (made, listener):
        conversation = await made.open(launch(tmp_path), listener)
        await conversation.prompt(Prompt(item_id="itm_1", text="One"))
        await listener.until(lambda: len(listener.drafts) >= 3 or None)
        await conversation.prompt(Prompt(item_id="itm_2", text="Two"))
        await listener.until(lambda: len(listener.drafts) >= 6 or None)
        assert listener.deaths == []
        await conversation.close()
    starts = (tmp_path / "starts").read_text().splitlines()
    assert ["continue T-1" in start for start in starts] == [False, True]
    assert [death.expected for death in listener.deaths] == [True]


async def test_changes_of_variant_and_policies_need_a_restart_and_mode_changes_do_not(tmp_path: Path) -> None:
    async with staged(tmp_path, "#!/bin/sh\nexec cat >/dev/null\n") as (made, listener):
        conversation = await made.open(launch(tmp_path), listener)
        assert await conversation.change(Change(permission_mode="plan"))
        assert conversation.mode == "plan"
        assert await conversation.change(Change(permission_mode="bypass", agent_mode="build"))
        assert not await conversation.change(Change(variant="low"))
        assert not await conversation.change(Change(policies=ToolPolicies(tools={"read": "deny"})))
        assert await conversation.change(Change(policies=UNRESTRICTED))
        (tmp_path / ".amp").mkdir()
        (tmp_path / ".amp" / "settings.json").write_text('{"amp.dangerouslyAllowAll": true}')
        assert not await conversation.change(Change(permission_mode="default"))
        await conversation.close()
