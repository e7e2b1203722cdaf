"""Finding, fetching and starting the program, and its state in the API."""

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import httpx2
import msgspec
import pytest

from everyagent.agents import packages
from everyagent.agents.adapter import Launch
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.opencode import launch as launching
from everyagent.agents.opencode import program
from everyagent.agents.opencode.adapter import OpencodeAdapter
from everyagent.agents.opencode.driver.server import OpencodeServer
from everyagent.agents.opencode.policy import dependencies
from everyagent.agents.shared_servers import ServerKey
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.model.tools import CustomTool, McpLocal, McpRemote
from everyagent.runtime.reaper import Reaper

SCRIPT = "#!/bin/sh\necho 1.18.33\n"


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


def content(environment: dict[str, str]) -> dict[str, object]:
    return msgspec.json.decode(environment["OPENCODE_CONFIG_CONTENT"], type=dict[str, object])


@asynccontextmanager
async def adapter(folder: Path, **environment: str) -> AsyncGenerator[OpencodeAdapter]:
    async with anyio.create_task_group() as tasks:
        made = OpencodeAdapter(
            AdapterContext(
                TaskSupervisor(tasks), folder, environment={"PATH": "/nowhere", "HOME": str(folder), **environment}
            )
        )
        try:
            yield made
        finally:
            await made.close()


# -- environment and configuration ------------------------------------------------------------------------------


def test_an_agent_gets_accounts_and_none_of_the_daemons_secrets(tmp_path: Path) -> None:
    source = {
        "PATH": "/bin",
        "ANTHROPIC_API_KEY": "k",
        "OPENROUTER_API_KEY": "k",
        "XDG_DATA_HOME": "/data",
        "EVERYAGENT_TOKEN": "secret",
        "DATABASE_URL": "secret",
    }
    ours = launching.environment(launch(tmp_path, env={"COLOUR": "blue"}), source, None)
    assert {"ANTHROPIC_API_KEY", "OPENROUTER_API_KEY", "XDG_DATA_HOME", "COLOUR"} <= set(ours)
    assert not {"EVERYAGENT_TOKEN", "DATABASE_URL"} & set(ours)
    assert ours["OPENCODE_DISABLE_MODELS_FETCH"] == "1"


def test_the_sessions_environment_takes_precedence(tmp_path: Path) -> None:
    ours = launching.environment(launch(tmp_path, env={"OPENCODE_DISABLE_MODELS_FETCH": "0"}), {"PATH": "/bin"}, None)
    assert ours["OPENCODE_DISABLE_MODELS_FETCH"] == "0"


def test_mcp_servers_and_custom_tools_are_added_to_the_configuration_given(tmp_path: Path) -> None:
    given = {"OPENCODE_CONFIG_CONTENT": '{"model":"a/b","mcp":{"own":{"enabled":false}},"plugin":["x"]}'}
    session = launch(
        tmp_path,
        env=given,
        mcp={
            "here": McpLocal(command=["run", "it"], env={"K": "v"}, timeout_ms=5),
            "there": McpRemote(url="https://mcp.test", headers={"H": "v"}),
        },
        tools=[CustomTool(name="t")],
        tools_url="http://127.0.0.1/tools",
        tools_token="token",
    )
    config = content(launching.environment(session, {}, None))
    assert config["model"] == "a/b"
    assert config["autoupdate"] is False
    assert config["plugin"] == ["x", launching.PLUGIN.as_uri()]
    mcp = msgspec.convert(config["mcp"], dict[str, dict[str, object]])
    assert list(mcp) == ["own", "here", "there", "everyagent"]
    assert mcp["here"]["environment"] == {"K": "v"}
    assert mcp["here"]["timeout"] == 5
    assert mcp["everyagent"]["headers"] == {"Authorization": "Bearer token"}
    assert launching.prefixes(session) == {"here_": "here", "there_": "there", "everyagent_": "everyagent"}


def test_sessions_that_differ_in_nothing_share_a_server_and_others_do_not(tmp_path: Path) -> None:
    def kind(**fields: object) -> ServerKey:
        return ServerKey.of(("opencode",), launching.environment(launch(tmp_path, **fields), {"PATH": "/bin"}, None))

    assert kind() == kind(model="a/b", permission_mode="bypass", title="T", system_prompt="P")
    assert kind() != kind(env={"A": "b"})
    assert kind() != kind(mcp={"here": McpLocal(command=["x"])})


def test_a_configuration_that_is_no_json_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(AgentFailed, match="OPENCODE_CONFIG_CONTENT"):
        launching.environment(launch(tmp_path, env={"OPENCODE_CONFIG_CONTENT": "{// no"}), {}, None)


def quiet(directory: Path, home: Path, **environment: str) -> bool:
    return bool(dependencies.environment(directory, {"HOME": str(home), **environment}))


@pytest.mark.parametrize("where", [".config/opencode", ".opencode", "work/.opencode", "work/repository/.opencode"])
def test_packages_are_fetched_only_for_a_folder_that_extends_opencode(tmp_path: Path, where: str) -> None:
    repository, folder = tmp_path / "work" / "repository", tmp_path / where
    (repository / "deep").mkdir(parents=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text('{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}')
    assert quiet(repository / "deep", tmp_path)
    (folder / "tool").mkdir()
    assert not quiet(repository / "deep", tmp_path)
    (folder / "node_modules").mkdir()
    (folder / "package-lock.json").write_text('{"packages":{"":{"dependencies":{"@opencode-ai/plugin":"1.18.33"}}}}')
    assert quiet(repository / "deep", tmp_path)
    (folder / "package.json").write_text('{"devDependencies":{"left-pad":"1"}}')
    assert not quiet(repository / "deep", tmp_path)


def test_extensions_outside_the_repository_are_ignored(tmp_path: Path) -> None:
    (tmp_path / "work" / ".opencode" / "plugin").mkdir(parents=True)
    repository = tmp_path / "work" / "repository"
    (repository / ".git").mkdir(parents=True)
    assert quiet(repository, tmp_path)
    assert not quiet(tmp_path / "work", tmp_path)
    assert not quiet(repository, tmp_path, OPENCODE_CONFIG_DIR=str(tmp_path / "work" / ".opencode"))


# -- what is on the machine -------------------------------------------------------------------------------------


async def test_the_configured_program_precedes_the_path_and_the_installed_one(tmp_path: Path) -> None:
    ours = executable(tmp_path / "opencode" / program.TESTED_VERSION / "opencode")
    on_path = executable(tmp_path / "bin" / "opencode")
    named = executable(tmp_path / "elsewhere" / "my-opencode")
    async with adapter(tmp_path) as first:
        assert (await first.state()).path == str(ours)
    async with adapter(tmp_path, PATH=f"{tmp_path / 'bin'}:/bin") as second:
        assert (await second.state()).path == str(on_path)
    async with adapter(tmp_path, PATH="/bin", EVERYAGENT_OPENCODE_BIN=str(named)) as third:
        assert (await third.state()).path == str(named)


async def test_a_missing_or_untested_program_is_reported(tmp_path: Path) -> None:
    async with adapter(tmp_path) as none:
        assert not (await none.state()).installed
        assert (await none.catalog()).agent_modes
        with pytest.raises(AgentNotInstalled, match="agents install opencode"):
            await none.open(launch(tmp_path), None)  # pyright: ignore[reportArgumentType]
    named = executable(tmp_path / "old", "#!/bin/sh\necho 0.1.0\n")
    async with adapter(tmp_path, EVERYAGENT_OPENCODE_BIN=str(named)) as old:
        assert "0.1.0 has not been tested" in ((await old.state()).problem or "")
    tested = executable(tmp_path / "new")
    async with adapter(tmp_path, EVERYAGENT_OPENCODE_BIN=str(tested)) as lacking:
        assert "ripgrep" in ((await lacking.state()).problem or "")
    executable(tmp_path / "tools" / "rg")
    async with adapter(tmp_path, EVERYAGENT_OPENCODE_BIN=str(tested), PATH=f"{tmp_path}/tools:/bin") as whole:
        assert (await whole.state()).problem is None


async def test_ripgrep_that_was_installed_beside_is_on_the_path_of_the_server(tmp_path: Path) -> None:
    beside = tmp_path / "opencode" / "ripgrep" / program.RIPGREP_VERSION / "rg"
    executable(beside)
    assert packages.installed(program.ripgrep(), tmp_path / "opencode" / "ripgrep") == beside
    ours = launching.environment(None, {"PATH": "/bin"}, beside)
    assert ours["PATH"] == f"/bin:{beside.parent}"


def test_a_login_is_reported_without_its_secret(tmp_path: Path) -> None:
    assert program.login({"HOME": str(tmp_path)}) is None
    assert program.login({"HOME": str(tmp_path), "OPENAI_API_KEY": "sk-secret"}) == "OPENAI_API_KEY"
    kept = tmp_path / ".local" / "share" / "opencode"
    kept.mkdir(parents=True)
    (kept / "auth.json").write_text('{"openai":{"type":"api","key":"sk-secret"},"anthropic":{"type":"oauth"}}')
    assert program.login({"HOME": str(tmp_path)}) == "anthropic, openai"


# -- the server -------------------------------------------------------------------------------------------------


async def test_the_server_needs_its_password(opencode_program: str, tmp_path: Path) -> None:
    environment = launching.environment(None, {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}, None)
    reaper = Reaper()
    async with anyio.create_task_group() as tasks:
        kind = ServerKey.of(launching.argv(opencode_program), environment)
        server = await OpencodeServer.ready(kind, TaskSupervisor(tasks), reaper)
        try:
            assert await server.rest.ask("GET", "/global/health", "/")
            url = str(server.rest.url)
            async with httpx2.AsyncClient(trust_env=False) as stranger:
                for path in ("/global/health", "/session", "/event", "/doc"):
                    assert (await stranger.get(f"{url}{path}")).status_code == 401
            assert url.startswith("http://127.0.0.1:")
        finally:
            await server.stop()
        assert not server.open
    await reaper.close()


async def test_the_message_of_a_program_that_ends_at_once_is_reported(tmp_path: Path) -> None:
    broken = executable(tmp_path / "broken", "#!/bin/sh\necho 'no such luck' >&2\nexit 3\n")
    reaper = Reaper()
    async with anyio.create_task_group() as tasks:
        with pytest.raises(AgentFailed, match="no such luck"):
            await OpencodeServer.ready(ServerKey.of((str(broken),), {"PATH": "/bin"}), TaskSupervisor(tasks), reaper)
    await reaper.close()
