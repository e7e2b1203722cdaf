"""The wall of an agent's process: the paths that an agent needs beside those of its session."""

import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from anyio import to_thread

from everyagent.agents.adapter import Launch
from everyagent.errors import AgentFailed
from everyagent.git.repository import find
from everyagent.model.tools import McpLocal
from everyagent.runtime import wall as walls
from everyagent.runtime.wall import Wall

#: The user's settings of git: author and aliases. Credentials are in other files.
_GIT_SETTINGS = (".gitconfig", ".config/git/config", ".config/git/ignore", ".config/git/attributes")
_XDG = ("CONFIG", "DATA", "STATE", "CACHE")
#: Folders that variables name, but that are not the session's to show.
_NOT_SHOWN = frozenset({"HOME", "PWD", "OLDPWD", "TMPDIR", *(f"XDG_{name}_HOME" for name in _XDG)})


async def around(
    launch: Launch,
    environment: Mapping[str, str],
    *,
    program: Path | None = None,
    native: Iterable[Path] = (),
    needed: Iterable[Path] = (),
) -> Wall | None:
    """The wall of a session's agent, None without isolation.

    `native` are the agent's own files and folders, which it may change. `needed` is what its program reads.
    """
    if launch.isolation == "none":
        return None
    return await to_thread.run_sync(_around, launch, environment, program, tuple(native), tuple(needed))


def _around(
    launch: Launch,
    environment: Mapping[str, str],
    program: Path | None,
    native: Iterable[Path],
    needed: Iterable[Path],
) -> Wall:
    if os.path.realpath(launch.directory) != str(launch.directory):
        raise AgentFailed(
            f"The session's directory {str(launch.directory)!r} has become a symbolic link, or lies in one. Put the "
            "folder back, or create another session."
        )
    native = list(native)
    for path in native:
        _require_own(path, launch)
    home = Path(environment.get("HOME") or Path.home())
    guarded = [home, *launch.hidden]
    repository, git = _git(launch, guarded)
    for folder in (launch.scratch.parent, launch.scratch):
        folder.mkdir(exist_ok=True, mode=0o700)
    writable = [launch.directory, launch.scratch, *git, *_made(native)]
    may_name = partial(_may_name, launch=launch, writable=[*map(str, writable)])
    folders = walls.programs(_searched(environment, launch, may_name), home, launch.hidden)
    if launch.containers:
        folders = [folder for folder in folders if not any(walls.below(str(folder), each) for each in walls.SYSTEM)]
    others = {name: value for name, value in environment.items() if name not in launch.env}
    read_only = [
        *needed,
        *launch.packages,
        *(_program(program, home, launch.hidden) if program else ()),
        *folders,
        *filter(may_name, _named(launch.env, guarded, folders=True)),
        *_named(others, guarded, folders=False),
        *_mcp_programs(launch, home, guarded, may_name),
        *(Path(others[name]) for name in ("SSL_CERT_DIR",) if name in others),
        *(home / name for name in _GIT_SETTINGS if "HOME" not in launch.env or may_name(home / name)),
        *repository,
    ]
    podman = None
    if launch.containers:
        from everyagent.runtime.container import Podman  # few servers have containers

        podman = Podman.of(launch.containers)
    return walls.build(home=home, read_only=read_only, writable=writable, hidden=launch.hidden, podman=podman)


def _may_name(path: Path, *, launch: Launch, writable: Sequence[str]) -> bool:
    """Whether the session's creator may have a path shown by naming it: nothing of the daemon's but packages.

    An agent can make links in its folders, so they may lead outside only to a Python, as those of virtual environments.
    """
    real = os.path.realpath(path)
    if any(walls.below(real, os.path.realpath(each)) for each in launch.packages):
        return True
    if any(walls.below(real, os.path.realpath(each)) for each in launch.hidden):
        return False
    if launch.confined_to is not None and not walls.below(real, os.path.realpath(launch.confined_to)):
        return False
    return not walls.is_led_by(str(path), writable) or _is_python(Path(real))


def _searched(environment: Mapping[str, str], launch: Launch, may_name: Callable[[Path], bool]) -> str:
    """The folders of the PATH. Those that only the session's PATH has are named by its creator."""
    path, ours = environment.get("PATH", os.defpath), os.environ.get("PATH", os.defpath).split(":")
    if "PATH" not in launch.env:
        return path
    return ":".join(each for each in path.split(":") if each in ours or may_name(Path(each)))


def _require_own(native: Path, launch: Launch) -> None:
    """Refuses folders of the agent's own that variables of an API key's session lead to another place."""
    if launch.confined_to is None or walls.below(os.path.realpath(native), os.path.realpath(launch.confined_to)):
        return
    for name, value in launch.env.items():
        if value.startswith("/") and walls.below(os.path.realpath(native), os.path.realpath(value)):
            raise AgentFailed(
                f"The variable {name} leads the agent's own files to {str(native)!r}. In a session of an API key, that "
                f"must be in {str(launch.confined_to)!r}."
            )


def _is_python(program: Path) -> bool:
    """Whether it is the interpreter of an installation: an agent cannot make one outside of its folders."""
    prefix = program.parent.parent
    return program.name.startswith("python") and any(prefix.glob("lib/python3.*/os.py"))


def shared_scratch(launch: Launch) -> Path:
    """The scratch folder for agents of all sessions with this directory, which can share a process behind one wall."""
    digest = hashlib.sha256(os.fsencode(launch.directory)).hexdigest()[:16]
    return launch.scratch.parent / "shared" / digest


def _program(binary: Path, home: Path, hidden: Sequence[Path]) -> list[Path]:
    """A program and what lies beside it; for a script of a package, the folder with all its packages."""
    real = Path(os.path.realpath(binary))
    if "node_modules" in real.parts:
        return [binary, Path(*real.parts[: real.parts.index("node_modules") + 1])]
    return [binary, real, *walls.programs(str(real.parent), home, hidden)]


def _named(variables: Mapping[str, str], guarded: Iterable[Path], *, folders: bool) -> list[Path]:
    """Existing files, and folders if wanted, whose paths are values of variables, alone or in a list."""
    found: list[Path] = []
    for name, value in variables.items():
        for each in value.split(":") if name not in _NOT_SHOWN and value.startswith("/") else ():
            shown = os.path.isfile(each) or (folders and os.path.isdir(each) and not _contains(Path(each), guarded))
            if each.startswith("/") and shown:
                found.append(Path(each))
    return found


def _mcp_programs(launch: Launch, home: Path, guarded: Iterable[Path], may_name: Callable[[Path], bool]) -> list[Path]:
    """The programs of the session's MCP servers, the files in their arguments, and the folders of both."""
    found: list[Path] = []
    for server in launch.mcp.values():
        if isinstance(server, McpLocal):
            words = [word for word in (*server.command, server.cwd or "", *server.env.values()) if word.startswith("/")]
            for word in filter(lambda word: may_name(Path(word)), words):
                folder = Path(word) if os.path.isdir(word) else Path(word).parent
                found += (
                    [Path(word)] if _contains(folder, guarded) else [folder, *_program(Path(word), home, launch.hidden)]
                )
    return found


def _git(launch: Launch, guarded: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """The folders that git reads, and the git folders that it changes, without links that lead out of them."""
    if launch.git is not None:
        return [launch.git.common], [path for path in launch.git.writable if os.path.realpath(path) == str(path)]
    repository = find(launch.directory)
    if repository is None or repository.root == repository.common.parent == launch.directory.resolve():
        return [], []
    confined = launch.confined_to and launch.confined_to.resolve()
    if confined and not (repository.root.is_relative_to(confined) and repository.common.is_relative_to(confined)):
        return [], []
    shown = [repository.root] if not _contains(repository.root, guarded) else []
    if repository.own != repository.common:
        return shown, [repository.own, repository.common]
    return (shown, [repository.common]) if shown else ([], [])


def _contains(folder: Path, guarded: Iterable[Path]) -> bool:
    return any(each.is_relative_to(folder) for each in guarded)


def _made(native: Iterable[Path]) -> list[Path]:
    """The agent's own folders, made if missing: what it writes there outlives the process. Files must exist."""
    for path in native:
        if not os.path.exists(path) and not path.suffix:
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
    return list(native)
