"""Discovery, installation, arguments and state of the Claude Code program."""

import hashlib
import os
import stat
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec
import pytest
from tests.agents.collecting_listener import CollectingListener
from tests.agents.registry import executable, npm_with

from everyagent.agents import packages
from everyagent.agents.adapter import Launch
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.claude import launch as launching
from everyagent.agents.claude import program
from everyagent.agents.claude.adapter import ClaudeAdapter
from everyagent.agents.packages import Program
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.model.tools import CustomTool, McpLocal, McpRemote

SCRIPT = "#!/bin/sh\necho '2.1.325 (Claude Code)'\n"


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
async def adapter(folder: Path, **environment: str) -> AsyncGenerator[ClaudeAdapter]:
    async with anyio.create_task_group() as tasks:
        made = ClaudeAdapter(
            AdapterContext(
                TaskSupervisor(tasks), folder, environment={"PATH": "/nowhere", "HOME": str(folder), **environment}
            )
        )
        try:
            yield made
        finally:
            await made.close()


# -- arguments and environment --------------------------------------------------------------------------------


def test_the_settings_of_a_session_become_arguments(tmp_path: Path) -> None:
    words = launching.argv(
        "claude",
        launch(
            tmp_path,
            model="sonnet",
            variant="high",
            native_session_id="n",
            permission_mode="acceptEdits",
        ),
        tmp_path / "mcp.json",
    )
    joined = " ".join(words)
    for part in (
        "--model sonnet",
        "--effort high",
        "--resume n",
        "--permission-mode acceptEdits",
        f"--mcp-config {tmp_path / 'mcp.json'}",
    ):
        assert part in joined
    assert "--dangerously-skip-permissions" not in words


@pytest.mark.parametrize(
    ("permission", "agent", "native"),
    [
        ("default", "build", "default"),
        ("bypass", "build", "bypassPermissions"),
        ("bypassPermissions", "build", "bypassPermissions"),
        ("acceptEdits", "plan", "plan"),
        ("dontAsk", "build", "dontAsk"),
        ("auto", "build", "auto"),
    ],
)
def test_permission_modes_are_translated_to_the_programs_names(
    tmp_path: Path, permission: str, agent: str, native: str
) -> None:
    words = launching.argv("claude", launch(tmp_path, permission_mode=permission, agent_mode=agent), None)
    assert words[words.index("--permission-mode") + 1] == native
    assert ("--dangerously-skip-permissions" in words) == (native == "bypassPermissions")


def test_the_sandbox_flag_is_set_only_for_root_in_bypass_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bypass, default = launch(tmp_path, permission_mode="bypass"), launch(tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert launching.environment(bypass, {}).get("IS_SANDBOX") == "1"
    assert "IS_SANDBOX" not in launching.environment(default, {})
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert "IS_SANDBOX" not in launching.environment(bypass, {})


def test_the_environment_has_account_variables_and_none_of_the_daemons(tmp_path: Path) -> None:
    source = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "key",
        "HTTPS_PROXY": "http://proxy",
        "EVERYAGENT_TOKEN": "secret",
        "CLAUDECODE": "1",
        "DATABASE_URL": "secret",
    }
    environment = launching.environment(launch(tmp_path, env={"ANTHROPIC_API_KEY": "its own"}), source)
    assert environment["ANTHROPIC_API_KEY"] == "its own"
    assert environment["HTTPS_PROXY"] == "http://proxy"
    assert not {"EVERYAGENT_TOKEN", "CLAUDECODE", "DATABASE_URL"} & set(environment)


def test_cloud_credentials_are_passed_only_if_the_clouds_models_are_used(tmp_path: Path) -> None:
    source = {"AWS_SECRET_ACCESS_KEY": "secret", "GOOGLE_APPLICATION_CREDENTIALS": "file"}
    assert not set(source) & set(launching.environment(launch(tmp_path), source))
    bedrock = launching.environment(launch(tmp_path, env={"CLAUDE_CODE_USE_BEDROCK": "1"}), source)
    assert set(source) & set(bedrock) == {"AWS_SECRET_ACCESS_KEY"}


def test_the_mcp_config_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    given = launch(
        tmp_path,
        mcp={
            "local": McpLocal(command=["python3", "server.py"], env={"KEY": "v"}, timeout_ms=5000),
            "remote": McpRemote(url="http://127.0.0.1:1/mcp", headers={"x": "y"}),
            "off": McpRemote(url="http://127.0.0.1:2/mcp", enabled=False),
        },
        tools=[CustomTool(name="weather")],
        tools_url="http://127.0.0.1:3/mcp",
        tools_token="secret",
    )
    path = launching.write_mcp_config(given)
    assert path
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    servers = msgspec.json.decode(path.read_bytes())["mcpServers"]
    assert set(servers) == {"local", "remote", "everyagent"}
    assert servers["local"] == {
        "type": "stdio",
        "command": "python3",
        "args": ["server.py"],
        "env": {"KEY": "v"},
        "timeout": 5000,
    }
    assert servers["everyagent"]["headers"] == {"Authorization": "Bearer secret"}
    assert servers["everyagent"]["timeout"] >= 24 * 3600 * 1000, "clients may take their time"
    assert "secret" not in " ".join(launching.argv("claude", given, path))


def test_a_session_without_mcp_servers_has_no_mcp_config(tmp_path: Path) -> None:
    assert launching.write_mcp_config(launch(tmp_path)) is None


# -- discovery and state --------------------------------------------------------------------------------------


async def test_the_configured_program_precedes_the_path_and_the_installed_one(tmp_path: Path) -> None:
    ours = executable(tmp_path / "claude" / program.TESTED_VERSION / "claude", SCRIPT)
    on_path = executable(tmp_path / "bin" / "claude", SCRIPT)
    named = executable(tmp_path / "elsewhere" / "my-claude", SCRIPT)
    async with adapter(tmp_path) as first:
        assert (await first.state()).path == str(ours)
    async with adapter(tmp_path, PATH=f"{tmp_path / 'bin'}:/bin") as second:
        assert (await second.state()).path == str(on_path)
    async with adapter(tmp_path, PATH=f"{tmp_path / 'bin'}:/bin", EVERYAGENT_CLAUDE_BIN=str(named)) as third:
        assert (await third.state()).path == str(named)


async def test_an_untested_version_works_and_is_reported(tmp_path: Path) -> None:
    named = executable(tmp_path / "claude", "#!/bin/sh\necho '9.9.9 (Claude Code)'\n")
    async with adapter(tmp_path, EVERYAGENT_CLAUDE_BIN=str(named)) as made:
        state = await made.state()
    assert state.installed
    assert (state.version, state.tested_version) == ("9.9.9", program.TESTED_VERSION)
    assert state.problem
    assert "9.9.9" in state.problem


async def test_a_program_that_does_not_run_is_a_problem(tmp_path: Path) -> None:
    named = executable(tmp_path / "claude", "#!/bin/sh\nexit 1\n")
    async with adapter(tmp_path, EVERYAGENT_CLAUDE_BIN=str(named)) as made:
        state = await made.state()
    assert not state.installed
    assert state.problem


async def test_a_session_without_the_program_gets_a_remedy(tmp_path: Path) -> None:
    async with adapter(tmp_path) as made:
        assert not (await made.state()).installed
        assert (await made.catalog()).models[0].id == "default"
        with pytest.raises(AgentNotInstalled, match="everyagent agents install claude"):
            await made.open(launch(tmp_path), None)  # pyright: ignore[reportArgumentType]
    async with adapter(tmp_path, EVERYAGENT_CLAUDE_BIN="/no/such/claude") as wrong:
        with pytest.raises(AgentNotInstalled, match="EVERYAGENT_CLAUDE_BIN"):
            await wrong.open(launch(tmp_path), None)  # pyright: ignore[reportArgumentType]


async def test_a_login_is_reported_without_its_secret(tmp_path: Path) -> None:
    async with adapter(tmp_path) as nobody:
        assert not (await nobody.state()).credentials_available
    async with adapter(tmp_path, ANTHROPIC_API_KEY="sk-secret") as key:
        assert (await key.state()).login == "ANTHROPIC_API_KEY"
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".claude" / ".credentials.json").write_text('{"claudeAiOauth":{"accessToken":"secret"}}')
    (tmp_path / ".claude.json").write_text('{"oauthAccount":{"emailAddress":"ann@example.com"}}')
    async with adapter(tmp_path) as account:
        state = await account.state()
    assert state.credentials_available
    assert state.login == "ann@example.com"


async def test_the_real_program_reports_its_models_and_efforts(binary: str, tmp_path: Path) -> None:
    environment = {"EVERYAGENT_CLAUDE_BIN": binary, "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    async with adapter(tmp_path, **environment) as made:
        state, catalog = await made.state(), await made.catalog()
        assert await made.catalog() is catalog
    assert (state.version, state.problem) == (program.TESTED_VERSION, None)
    assert "fable" in [model.id for model in catalog.models]
    assert catalog.models[0].variants == ["low", "medium", "high", "xhigh", "max"]


async def test_a_failed_start_is_reported_with_stderr(tmp_path: Path) -> None:
    named = executable(tmp_path / "claude", "#!/bin/sh\necho 'the flux is low' >&2\nexit 7\n")
    listener = CollectingListener()
    async with adapter(tmp_path, EVERYAGENT_CLAUDE_BIN=str(named)) as made:
        await made.open(launch(tmp_path), listener)
        death = await listener.death()
    assert death.exit_code == 7
    assert death.stderr
    assert death.stderr.head == "the flux is low"
    assert death.message
    assert "the flux is low" in death.message


# -- installation ---------------------------------------------------------------------------------------------


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return npm_with({"package/claude": SCRIPT}, tmp_path, monkeypatch)


def wanted(**fields: object) -> Program:
    digest = hashlib.sha256(SCRIPT.encode()).hexdigest()
    given = {"package": "@x/claude", "version": "2.1.325", "member": "package/claude", "size": len(SCRIPT)}
    return Program(**{**given, "sha256": digest, **fields})  # pyright: ignore[reportArgumentType]


def test_a_program_is_downloaded_once_and_verified(registry: Path, tmp_path: Path) -> None:
    path = packages.install(wanted(), tmp_path / "agents")
    assert packages.version_of(path) == "2.1.325"
    assert packages.install(wanted(), tmp_path / "agents") == path
    assert registry.read_text() == "@x/claude@2.1.325\n"
    packages.install(wanted(), tmp_path / "agents", reinstall=True)
    assert len(registry.read_text().splitlines()) == 2


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("wrong", [{"size": 1}, {"sha256": "0" * 64}, {"member": "package/other"}])
def test_a_program_with_another_size_or_checksum_is_not_installed(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(AgentFailed):
        packages.install(wanted(**wrong), tmp_path / "agents")
    assert packages.installed(wanted(), tmp_path / "agents") is None
    assert [each.name for each in (tmp_path / "agents").iterdir() if each.name != ".lock" and any(each.iterdir())] == []


async def test_the_pinned_version_is_installed_into_the_data_folder(
    registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ClaudeAdapter, "identity", program.IDENTITY._replace(pinned=wanted))
    async with adapter(tmp_path / "agents") as made:
        assert not (await made.state()).installed
        state = await made.install(reinstall=False)
        await made.install(reinstall=False)
    assert state.path == str(tmp_path / "agents" / "claude" / "2.1.325" / "claude")
    assert (state.installed, state.version, state.problem) == (True, program.TESTED_VERSION, None)
    assert len(registry.read_text().splitlines()) == 1


def test_the_error_of_a_failed_download_has_the_output_of_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    executable(tmp_path / "npm" / "npm", "#!/bin/sh\necho 'no such package' >&2\nexit 1\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'npm'}:{os.environ['PATH']}")
    with pytest.raises(AgentFailed, match="no such package"):
        packages.install(wanted(), tmp_path / "agents")


def test_without_npm_node_from_pypi_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    node, npm = packages.npm()
    assert Path(node).exists()
    assert Path(npm).exists()


async def test_a_program_that_does_not_list_its_models_is_not_asked_at_each_request(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    named = executable(tmp_path / "claude", f'#!/bin/sh\n[ "$1" = --version ] || echo start >> {starts}\nexit 1\n')
    async with adapter(tmp_path, EVERYAGENT_CLAUDE_BIN=str(named)) as made:
        catalogs = [await made.catalog() for _ in range(3)]
    assert starts.read_text() == "start\n"
    assert catalogs[0] == catalogs[1] == catalogs[2]
