"""An environment's packages, installed once into a folder of their own, whatever the number of sessions."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.agents.packages import npm
from everyagent.errors import AgentFailed
from everyagent.managed.children import Child
from everyagent.managed.environment import MANAGERS, Packages

INSTALL_LIMIT_SECONDS = 900.0
_TOLD = 1000


class Installed(Struct, frozen=True, kw_only=True):
    """`env` makes the packages be found; `problems` says what is missing, and why."""

    env: dict[str, str]
    problems: list[str]


def machine_limits(packages: Packages) -> list[str]:
    """What of it cannot be had on this machine, known beforehand."""
    limits: list[str] = []
    if packages.apt:
        limits.append("apt packages are not installed: sessions run on the daemon's machine, as its user")
    limits += [
        f"{manager} packages are not installed: there is no {manager} on the daemon's machine"
        for manager in ("cargo", "gem", "go")
        if getattr(packages, manager) and shutil.which(manager) is None
    ]
    return limits


def install(packages: Packages, folder: Path, path: str, child: Child) -> Installed:
    """Blocking. Packages of one manager are there all or not at all; a failure is tried again the next time."""
    env: dict[str, str] = {}
    problems = machine_limits(packages)
    places: list[str] = []
    for manager in MANAGERS:
        wanted: list[str] = getattr(packages, manager)
        if not wanted or manager == "apt" or any(problem.startswith(manager) for problem in problems):
            continue
        prefix = folder / f"{manager}-{_fingerprint(wanted)}"
        try:
            _once(prefix, manager, wanted, child)
        except (subprocess.SubprocessError, OSError, AgentFailed) as error:
            problems.append(f"{manager} could not install {', '.join(wanted)}: {_told(error)}")
            continue
        places.append(str(prefix / "bin"))
        env |= _variables(manager, prefix)
    return Installed(env=env | ({"PATH": os.pathsep.join([*places, path])} if places else {}), problems=problems)


def _once(prefix: Path, manager: str, wanted: Sequence[str], child: Child) -> None:
    """Whoever comes second waits, and finds it done. It cannot be moved into place, so a mark says it is whole."""
    with _only_one(prefix.with_name(f".{prefix.name}.lock")):
        if (prefix / ".whole").exists():
            return
        shutil.rmtree(prefix, ignore_errors=True)
        prefix.mkdir(parents=True)
        try:
            for argv in _commands(manager, prefix, wanted):
                with tempfile.TemporaryFile() as said:
                    code = child.run(
                        argv,
                        environment=_install_environment(manager, prefix),
                        said=said,
                        limit=INSTALL_LIMIT_SECONDS,
                        folder=prefix,
                    )
                    if code:
                        said.seek(max(0, said.seek(0, os.SEEK_END) - _TOLD))
                        raise AgentFailed(said.read().decode("utf-8", "replace").strip())
        except BaseException:
            shutil.rmtree(prefix, ignore_errors=True)
            raise
        (prefix / ".whole").touch()


def _commands(manager: str, prefix: Path, wanted: Sequence[str]) -> list[list[str]]:
    match manager:
        case "pip":
            return [
                [shutil.which("python3") or "python3", "-m", "venv", str(prefix)],
                [str(prefix / "bin" / "pip"), "install", "--no-input", "--", *wanted],
            ]
        case "npm":
            return [[*npm(), "install", "--global", "--prefix", str(prefix), "--no-audit", "--no-fund", "--", *wanted]]
        case "cargo":
            return [["cargo", "install", "--root", str(prefix), "--", *wanted]]
        case "gem":
            return [["gem", "install", "--install-dir", str(prefix), "--bindir", str(prefix / "bin"), *wanted]]
        case _:
            return [["go", "install", "--", module if "@" in module else f"{module}@latest"] for module in wanted]


def _install_environment(manager: str, prefix: Path) -> dict[str, str]:
    passed = {name: value for name, value in os.environ.items() if not name.startswith("EVERYAGENT_")}
    extra = {"go": {"GOBIN": str(prefix / "bin")}, "npm": {"npm_config_cache": str(prefix / ".cache")}}
    return passed | extra.get(manager, {})


def _variables(manager: str, prefix: Path) -> dict[str, str]:
    match manager:
        case "pip":
            return {"VIRTUAL_ENV": str(prefix)}
        case "npm":
            return {"NODE_PATH": str(prefix / "lib" / "node_modules")}
        case "gem":
            return {"GEM_PATH": str(prefix)}
        case _:
            return {}


@contextmanager
def _only_one(path: Path) -> Generator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _fingerprint(wanted: Sequence[str]) -> str:
    return hashlib.sha256(msgspec.json.encode(sorted(wanted))).hexdigest()[:16]


def _told(error: Exception) -> str:
    return str(error)[-_TOLD:]
