"""The Amp program: package, tested version, login."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from everyagent.agents import packages
from everyagent.agents.installed import ProgramIdentity
from everyagent.agents.packages import Program

#: Newer packages hold a stub that does not run on Linux.
TESTED_VERSION = "0.0.1790142911-g7618fb"
BINARY_VARIABLE = "EVERYAGENT_AMP_BIN"
DEFAULT_URL = "https://ampcode.com/"
_KNOWN = {"linux-x64": (101_238_240, "3b8a5fc578cc20d4adb7bd77effe09e2aae11d6761c3698b8e740388deb42542")}


def pinned() -> Program:
    """The native binary for this platform; the main npm package is only a wrapper."""
    name = packages.platform_name()
    size, digest = _KNOWN.get(name, (0, ""))
    return Program(
        package=f"@ampcode/cli-{name}", version=TESTED_VERSION, member="package/amp", size=size, sha256=digest
    )


def login(environment: Mapping[str, str]) -> str | None:
    """The account in use, in a few words; None if there is none. No secret is kept."""
    if environment.get("AMP_API_KEY"):
        return "AMP_API_KEY"
    return "an Amp account" if _stored_key(environment) else None


def native(environment: Mapping[str, str]) -> list[Path]:
    """The folders that Amp keeps its settings, login and threads in."""
    home = Path(environment.get("HOME") or Path.home())
    folders = (("XDG_CONFIG_HOME", ".config"), ("XDG_DATA_HOME", ".local/share"), ("XDG_CACHE_HOME", ".cache"))
    kept = [Path(environment.get(variable) or home / folder) / "amp" for variable, folder in folders]
    return [*kept, *(Path(environment[name]).parent for name in ("AMP_LOG_FILE",) if environment.get(name))]


def _stored_key(environment: Mapping[str, str]) -> bool:
    """Amp keeps a key for each server it was logged in to."""
    home = Path(environment.get("HOME") or Path.home())
    data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
    try:
        stored = msgspec.json.decode((data / "amp" / "secrets.json").read_bytes(), type=dict[str, object])
    except (OSError, msgspec.MsgspecError):
        return False
    url = environment.get("AMP_URL") or DEFAULT_URL
    return any(stored.get(f"apiKey@{name}") for name in (url, url.rstrip("/"), f"{url.rstrip('/')}/"))


IDENTITY = ProgramIdentity("amp", "Amp", BINARY_VARIABLE, TESTED_VERSION, pinned, login)
