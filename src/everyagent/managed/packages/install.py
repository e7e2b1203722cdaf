"""Installs the packages of an environment once, into a folder that all its sessions use."""

import hashlib
import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.agents.packages import npm
from everyagent.errors import AgentFailed
from everyagent.managed.packages import apt, unpacked
from everyagent.managed.packages.folder_lock import only_one
from everyagent.managed.packages.subprocesses import Child
from everyagent.managed.resources.environments.shape import MANAGERS, Packages
from everyagent.runtime.environment import scrubbed

INSTALL_LIMIT_SECONDS = 900.0
_ERROR_CHARS = 1000


class InstalledPackages(Struct, frozen=True, kw_only=True):
    """`env` has the variables by which programs find the packages in `folders`; `problems` lists missing ones with the
    reason.
    """

    env: dict[str, str]
    folders: list[Path]
    problems: list[str]


def machine_limits(packages: Packages) -> list[str]:
    """Packages that this machine cannot install, known before trying."""
    limits: list[str] = []
    if packages.apt and not all(map(shutil.which, apt.PROGRAMS)):
        limits.append("apt packages are not installed: the daemon's machine has no apt and dpkg")
    elif unknown := [name for name in packages.apt if not apt.is_package(name)]:
        limits.append(f"apt packages are not installed: {unknown[0]!a} is not the name of a Debian package")
    limits += [
        f"{manager} packages are not installed: there is no {manager} on the daemon's machine"
        for manager in ("cargo", "gem", "go")
        if getattr(packages, manager) and shutil.which(manager) is None
    ]
    return limits


def install(packages: Packages, folder: Path, path: str, child: Child) -> InstalledPackages:
    """Blocking. Installs all packages of a manager or none; a failure is tried again the next time."""
    env: dict[str, str] = {}
    problems = machine_limits(packages)
    places: list[str] = []
    folders: list[Path] = []
    for manager in MANAGERS:
        wanted: list[str] = getattr(packages, manager)
        if not wanted or any(problem.startswith(f"{manager} ") for problem in problems):
            continue
        prefix = folder / f"{manager}-{_fingerprint(wanted)}"
        try:
            _once(prefix, manager, wanted, child)
        except (subprocess.SubprocessError, OSError, AgentFailed) as error:
            problems.append(f"{manager} could not install {', '.join(wanted)}: {_shortened(error)}")
            continue
        found = _variables(manager, prefix)
        places += found.pop("PATH", "").split(os.pathsep)
        env |= found
        folders.append(prefix)
    places = [*filter(None, places)]
    if places:
        env["PATH"] = os.pathsep.join([*places, path])
    return InstalledPackages(env=env, folders=folders, problems=problems)


def _once(prefix: Path, manager: str, wanted: Sequence[str], child: Child) -> None:
    """Installs once; others wait. The folder cannot be moved afterwards, so a mark file shows that it is complete."""
    with only_one(prefix):
        if (prefix / ".whole").exists():
            return
        shutil.rmtree(prefix, ignore_errors=True)
        prefix.mkdir(parents=True)
        try:
            _fill(prefix, manager, wanted, child)
        except BaseException:
            shutil.rmtree(prefix, ignore_errors=True)
            raise
        (prefix / ".whole").touch()


def _fill(prefix: Path, manager: str, wanted: Sequence[str], child: Child) -> None:
    environment = _install_environment(manager, prefix)

    def run(argv: Sequence[str], folder: Path) -> str:
        return child.output_of(argv, environment=environment, limit=INSTALL_LIMIT_SECONDS, folder=folder)

    if manager == "apt":
        apt.fill(prefix, wanted, prefix.with_name("apt-lists"), run)
    for argv in _commands(manager, prefix, wanted):
        run(argv, prefix)


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
        case "go":
            return [["go", "install", "--", module if "@" in module else f"{module}@latest"] for module in wanted]
        case _:
            return []


#: Settings of package managers that are passed on from the daemon, besides proxies and certificates. Those that only
#: publish packages, such as CARGO_REGISTRY_TOKEN, are not.
_SETTINGS = re.compile(
    r"(?i:(http|https|no|all)_proxy)|REQUESTS_CA_BUNDLE|CURL_CA_BUNDLE|(?i:npm_config_).*|PIP_.*|APT_CONFIG"
    r"|(CARGO|RUSTUP|GEM)_HOME|RUSTUP_TOOLCHAIN|CARGO_NET_.*|GEM_PATH"
    r"|GO(ROOT|PATH|PROXY|PRIVATE|SUMDB|NOSUMDB|NOPROXY|FLAGS|CACHE|MODCACHE|TOOLCHAIN|ENV)"
)


def _install_environment(manager: str, prefix: Path) -> dict[str, str]:
    passed = scrubbed(os.environ, allow=[name for name in os.environ if _SETTINGS.fullmatch(name)], session={})
    extra = {
        "apt": {"LC_ALL": "C"},
        "go": {"GOBIN": str(prefix / "bin")},
        "npm": {"npm_config_cache": str(prefix / ".cache")},
    }
    return passed | extra.get(manager, {})


def _variables(manager: str, prefix: Path) -> dict[str, str]:
    """The variables for one manager, without the session's own `PATH`."""
    programs = {"PATH": str(prefix / "bin")}
    match manager:
        case "apt":
            return unpacked.variables(prefix)
        case "pip":
            return programs | {"VIRTUAL_ENV": str(prefix)}
        case "npm":
            return programs | {"NODE_PATH": str(prefix / "lib" / "node_modules")}
        case "gem":
            return programs | {"GEM_PATH": str(prefix)}
        case _:
            return programs


def _fingerprint(wanted: Sequence[str]) -> str:
    return hashlib.sha256(msgspec.json.encode(sorted(wanted))).hexdigest()[:16]


def _shortened(error: Exception) -> str:
    return str(error)[-_ERROR_CHARS:]
