"""The Amp program on this machine: where it is, which version, who is logged in."""

from collections.abc import Mapping
from pathlib import Path

import msgspec

from everyagent.agents import packages
from everyagent.agents.installed import Identity
from everyagent.agents.packages import Program

#: Newer ones install a stub that is no program on Linux.
TESTED_VERSION = "0.0.1790142911-g7618fb"
BINARY_VARIABLE = "EVERYAGENT_AMP_BIN"
DEFAULT_URL = "https://ampcode.com/"
_KNOWN = {"linux-x64": (101_238_240, "3b8a5fc578cc20d4adb7bd77effe09e2aae11d6761c3698b8e740388deb42542")}


def pinned() -> Program:
    """The platform's native binary, which the npm package only wraps."""
    name = packages.platform_name()
    size, digest = _KNOWN.get(name, (0, ""))
    return Program(
        package=f"@ampcode/cli-{name}", version=TESTED_VERSION, member="package/amp", size=size, sha256=digest
    )


def login(environment: Mapping[str, str]) -> str | None:
    """Who pays, in a few words; None if nobody is logged in. No secret is kept, only whether there is one."""
    if environment.get("AMP_API_KEY"):
        return "AMP_API_KEY"
    return "an Amp account" if _stored_key(environment) else None


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


IDENTITY = Identity("amp", "Amp", BINARY_VARIABLE, TESTED_VERSION, pinned, login)
