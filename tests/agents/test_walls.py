from pathlib import Path

import pytest
from msgspec.structs import replace

from everyagent.agents import walls
from everyagent.agents.adapter import Launch

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
    own = tmp_path / "repository" / ".git" / "worktrees" / "work"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    launch = launch_in(tmp_path)
    (launch.directory / ".git").write_text(f"gitdir: {own}\n")
    wall = await walls.around(launch, {"HOME": str(tmp_path / "home"), "PATH": "/usr/bin"})
    assert wall
    assert ("rw", str(tmp_path / "repository" / ".git")) in wall.steps


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
