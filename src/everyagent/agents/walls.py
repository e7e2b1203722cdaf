"""The wall of an agent's process: the paths that an agent needs beside those of its session."""

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from anyio import to_thread

from everyagent.agents.adapter import Launch
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
    home = Path(environment.get("HOME") or Path.home())
    guarded = [home, *launch.hidden]
    repository, git = _git(launch, guarded)
    for folder in (launch.scratch.parent, launch.scratch):
        folder.mkdir(exist_ok=True, mode=0o700)
    writable = [launch.directory, launch.scratch, *git, *_made(native)]
    folders = walls.programs(environment.get("PATH", os.defpath), home, launch.hidden)
    if launch.containers:
        folders = [folder for folder in folders if not any(walls.below(str(folder), each) for each in walls.SYSTEM)]
    read_only = [
        *needed,
        *(_program(program, home, launch.hidden) if program else ()),
        *folders,
        *_named(launch.env, guarded, folders=True),
        *_named(environment, guarded, folders=False),
        *(Path(environment[name]) for name in ("SSL_CERT_DIR",) if name in environment),
        *(home / name for name in _GIT_SETTINGS),
        *_mcp_programs(launch, home, guarded),
        *repository,
    ]
    podman = None
    if launch.containers:
        from everyagent.runtime.container import Podman  # few servers have containers

        podman = Podman.of(launch.containers)
    return walls.build(home=home, read_only=read_only, writable=writable, hidden=launch.hidden, podman=podman)


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


def _mcp_programs(launch: Launch, home: Path, guarded: Iterable[Path]) -> list[Path]:
    """The programs of the session's MCP servers, the files in their arguments, and the folders of both."""
    found: list[Path] = []
    for server in launch.mcp.values():
        if isinstance(server, McpLocal):
            words = [word for word in (*server.command, server.cwd or "", *server.env.values()) if word.startswith("/")]
            for word in words:
                folder = Path(word) if os.path.isdir(word) else Path(word).parent
                found += (
                    [Path(word)] if _contains(folder, guarded) else [folder, *_program(Path(word), home, launch.hidden)]
                )
    return found


def _git(launch: Launch, guarded: Iterable[Path]) -> tuple[list[Path], list[Path]]:
    """What git needs: folders to read, and git folders to change. Links that lead out of a git folder do not count."""
    if launch.git is not None:
        return [launch.git.common], [path for path in launch.git.writable if os.path.realpath(path) == str(path)]
    repository = find(launch.directory)
    if repository is None or repository.root == repository.common.parent == launch.directory.resolve():
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
