"""Installs Debian packages into a folder without root rights, with the machine's own apt.

The system is not changed, its locks are not taken, and no maintainer script runs.
"""

import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from everyagent.errors import AgentFailed
from everyagent.managed.packages.folder_lock import only_one
from everyagent.managed.packages.unpacked import settle

#: Runs a program in a folder and returns its output; raises `AgentFailed` with the output when it fails.
Run: TypeAlias = Callable[[Sequence[str], Path], str]

PROGRAMS = ("apt-get", "dpkg-deb")
#: With or without a version. A name that ends in `-` would make apt remove the package.
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+.](:[a-z0-9-]+)?(=[A-Za-z0-9.+:~-]+)?")
_PLANNED = re.compile(r"^Inst (\S+) (?:\[\S*\] )?\((\S+) ", re.MULTILINE)
#: Must match the machine's loader: no program starts with another version.
_LOADERS_OWN = "libc6"
#: Disables the machine's hooks, and package names as patterns.
_CONFIG = """\
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear AptCli::Hooks;
APT::Cmd::Pattern-Only "true";
APT::Get::Show-User-Simulation-Note "false";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
Debug::NoLocking "true";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
"""


def is_package(word: str) -> bool:
    return _PACKAGE.fullmatch(word) is not None


def fill(prefix: Path, wanted: Sequence[str], lists: Path, run: Run) -> None:
    """Installs the packages that the machine lacks. `lists` is for our own package lists, used second."""
    fetched = prefix / ".fetched"
    fetched.mkdir()
    config = fetched / "apt.conf"
    config.write_text(_CONFIG)
    apt = ["apt-get", "-qq", "-c", str(config)]
    try:
        _fetch(apt, wanted, fetched, run)
    except AgentFailed:
        with only_one(lists):
            _fetch_anew(apt, wanted, lists, fetched, run)
    for package in sorted(fetched.glob("*.deb")):
        run(["dpkg-deb", "-x", str(package), str(prefix)], fetched)
        run(["dpkg-deb", "-e", str(package), str(package.with_suffix(".control"))], fetched)
    scripts = [script.read_bytes() for script in sorted(fetched.glob("*.control/postinst"))]
    shutil.rmtree(fetched)
    settle(prefix, scripts)


def _fetch_anew(apt: Sequence[str], wanted: Sequence[str], lists: Path, folder: Path, run: Run) -> None:
    (lists / "partial").mkdir(parents=True, exist_ok=True)
    apt = [*apt, "-o", f"Dir::State::lists={lists}"]
    warnings = run([*apt, "update"], folder)
    try:
        _fetch(apt, wanted, folder, run)
    except AgentFailed as error:
        raise AgentFailed(f"{warnings}\n{error.detail}".strip()) from error


def _fetch(apt: Sequence[str], wanted: Sequence[str], folder: Path, run: Run) -> None:
    planned = run([*apt, "--simulate", "--allow-downgrades", "install", "--", *wanted], folder)
    missing = [f"{name}={version}" for name, version in _PLANNED.findall(planned) if name != _LOADERS_OWN]
    for stale in folder.glob("*.deb"):
        stale.unlink()
    if missing:
        run([*apt, "download", "--", *missing], folder)
