from pathlib import Path

import pytest
from msgspec.structs import replace
from tests.managed.git_stage import git

from everyagent.agents import walls
from everyagent.agents.adapter import Launch
from everyagent.errors import AgentFailed
from everyagent.model.tools import McpLocal

pytestmark = pytest.mark.anyio


def launch_in(folder: Path, **fields: object) -> Launch:
    for name in ("work", "data", "home"):
        (folder / name).mkdir(exist_ok=True)
    common = {"session_id": "s", "permission_mode": "default", "agent_mode": "build", "isolation": "namespace"}
    paths = {"directory": folder / "work", "scratch": folder / "data" / "scratch" / "1", "hidden": (folder / "data",)}
    return Launch(**(common | paths | fields))  # pyright: ignore[reportArgumentType]


async def test_sessions_of_one_directory_have_equal_walls(tmp_path: Path) -> None:
    """Also if the first one makes the agent's folders."""
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin", "XDG_DATA_HOME": str(tmp_path / "home" / "data")}
    native = [tmp_path / "home" / "data" / "agent"]
    launch = launch_in(tmp_path, env=environment)
    first = await walls.around(launch, environment, native=native)
    assert first == await walls.around(launch, environment, native=native)
    assert first
    assert first.shows(native[0])


async def test_a_wall_shows_the_session_and_hides_the_data_folder(tmp_path: Path) -> None:
    environment = {"HOME": str(tmp_path / "home"), "PATH": f"/usr/bin:{tmp_path}/home/bin"}
    launch = launch_in(tmp_path, directory=tmp_path)
    (tmp_path / "data" / "token").touch()
    wall = await walls.around(launch, environment)
    assert wall
    assert wall.shows(tmp_path / "work")
    assert wall.shows(launch.scratch)
    assert not wall.shows(tmp_path / "data" / "token")
    assert not wall.shows(Path("/var/lib"))


async def test_a_worktree_can_write_to_the_git_folder_of_its_repository(tmp_path: Path) -> None:
    repository = tmp_path / "repository"
    repository.mkdir()
    git(repository, "init", "-q")
    git(repository, "commit", "-qm", "first", "--allow-empty")
    git(repository, "worktree", "add", "-q", str(tmp_path / "work"))
    wall = await walls.around(launch_in(tmp_path), {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"})
    assert wall
    assert ("rw", str(repository / ".git")) in wall.steps


async def test_a_git_file_of_the_agents_shows_no_other_folder(tmp_path: Path) -> None:
    """The agent can write it, and what it names would be writable for its next process."""
    private = tmp_path / "home" / "private"
    launch = launch_in(tmp_path)
    private.mkdir()
    own = launch.directory / "own"
    own.mkdir()
    (own / "commondir").write_text(str(private))
    for folder in ("objects", "refs/heads"):
        (own / folder).mkdir(parents=True)
    (own / "HEAD").write_text("ref: refs/heads/main\n")
    (own / "gitdir").write_text(f"{launch.directory}/.git\n")
    for named in (private, own, "own", "../home/private"):
        (launch.directory / ".git").write_text(f"gitdir: {named}\n")
        wall = await walls.around(launch, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"})
        assert wall
        assert not wall.shows(private)


async def test_without_isolation_there_is_no_wall(tmp_path: Path) -> None:
    assert await walls.around(launch_in(tmp_path, isolation="none"), {}) is None


async def test_a_file_of_the_session_that_a_variable_names_stays_writable(tmp_path: Path) -> None:
    launch = launch_in(tmp_path)
    database = launch.directory / "app.db"
    database.touch()
    environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin", "DATABASE": str(database)}
    wall = await walls.around(replace(launch, env=environment), environment)
    assert wall
    assert ("ro", str(database)) not in wall.steps
    assert ("rw", str(launch.directory)) in wall.steps


def named_files(folder: Path) -> dict[str, Path]:
    """Files that the creator of a session may want to show, by the name of a variable."""
    (folder / "data" / "token").touch()
    (folder / "elsewhere" / "bin").mkdir(parents=True)
    (folder / "elsewhere" / "secret").touch()
    for name in ("token", "secret"):
        (folder / "work" / name).symlink_to(folder / {"token": "data", "secret": "elsewhere"}[name] / name)
    return {
        "TOKEN": folder / "data" / "token",
        "LINK_TO_TOKEN": folder / "work" / "token",
        "LINK_TO_SECRET": folder / "work" / "secret",
        "FOLDER": folder / "elsewhere",
        "PATH": folder / "elsewhere" / "bin",
        "SSL_CERT_DIR": folder / "elsewhere",
    }


async def test_naming_a_file_of_the_daemon_does_not_show_it(tmp_path: Path) -> None:
    launch = launch_in(tmp_path)
    for name, path in named_files(tmp_path).items():
        env = {name: str(path), "HOME": str(tmp_path / "home")}
        server = McpLocal(command=["/usr/bin/env", str(path)])
        wall = await walls.around(replace(launch, env=env, mcp={"server": server}), {"PATH": "/usr/bin", **env})
        assert wall
        assert not wall.shows(tmp_path / "data" / "token"), name
        assert wall.shows(tmp_path / "elsewhere" / "secret") == (name in ("FOLDER", "PATH", "SSL_CERT_DIR")), name


async def test_the_creator_of_a_confined_session_shows_nothing_outside_by_naming_it(tmp_path: Path) -> None:
    launch = launch_in(tmp_path, confined_to=tmp_path / "work")
    native = [tmp_path / "home" / ".agent"]
    (tmp_path / "work" / "tool").touch()
    for name, path in named_files(tmp_path).items():
        env = {name: str(path), "INSIDE": str(tmp_path / "work" / "tool")}
        server = McpLocal(command=["/usr/bin/env", str(path)], cwd=str(path))
        environment = {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin", **env}
        wall = await walls.around(replace(launch, env=env, mcp={"server": server}), environment, native=native)
        assert wall
        assert not wall.shows(tmp_path / "data" / "token"), name
        assert not wall.shows(tmp_path / "elsewhere" / "secret"), name
        assert wall.shows(tmp_path / "work" / "tool")
        assert wall.shows(native[0])
    for name in ("HOME", "AGENT_HOME"):
        env = {name: str(tmp_path / "elsewhere")}
        with pytest.raises(AgentFailed, match=name):
            await walls.around(replace(launch, env=env), {**env}, native=[tmp_path / "elsewhere" / ".agent"])


async def test_a_directory_that_became_a_link_is_refused(tmp_path: Path) -> None:
    launch = launch_in(tmp_path)
    launch.directory.rename(tmp_path / "moved")
    launch.directory.symlink_to(tmp_path / "home")
    with pytest.raises(AgentFailed, match="symbolic link"):
        await walls.around(launch, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"})


async def test_a_virtual_environment_in_the_directory_keeps_its_python(tmp_path: Path) -> None:
    installed = tmp_path / "python"
    for folder in ("bin", "lib/python3.11"):
        (installed / folder).mkdir(parents=True)
    (installed / "bin" / "python3.11").touch()
    (installed / "lib" / "python3.11" / "os.py").touch()
    launch = launch_in(tmp_path)
    (launch.directory / ".venv" / "bin").mkdir(parents=True)
    python = launch.directory / ".venv" / "bin" / "python"
    python.symlink_to(installed / "bin" / "python3.11")
    server = McpLocal(command=[str(python), "server.py"])
    wall = await walls.around(
        replace(launch, mcp={"own": server}), {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}
    )
    assert wall
    assert wall.shows(installed / "lib" / "python3.11" / "os.py")


async def test_an_agent_installed_in_the_data_folder_is_shown_in_a_session_around_it(tmp_path: Path) -> None:
    launch = launch_in(tmp_path, directory=tmp_path)
    program = tmp_path / "data" / "agents" / "claude" / "claude"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "data" / "token").touch()
    wall = await walls.around(launch, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"}, program=program)
    assert wall
    assert wall.shows(program)
    assert not wall.shows(tmp_path / "data" / "token")
