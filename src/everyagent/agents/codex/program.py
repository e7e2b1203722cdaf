"""The Codex program on this machine: where it is, which version, who is logged in."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.agents import packages
from everyagent.agents.installed import ProgramIdentity
from everyagent.agents.packages import Program

TESTED_VERSION = "0.166.0"
BINARY_VARIABLE = "EVERYAGENT_CODEX_BIN"
KEY_VARIABLE = "OPENAI_API_KEY"
_TARGETS = {
    "linux-x64": "x86_64-unknown-linux-musl",
    "linux-arm64": "aarch64-unknown-linux-musl",
    "darwin-x64": "x86_64-apple-darwin",
    "darwin-arm64": "aarch64-apple-darwin",
}
_KNOWN = {"linux-x64": (319_346_888, "b8a11fedf24b2dfb59a70c9e52b030f9a508dcd49cd2dd0d41956f4c785156b8")}


def pinned() -> Program:
    """The platform's native binary with what it starts itself; the npm package of the plain name only wraps it."""
    name = packages.platform_name().removesuffix("-musl")
    root = f"package/vendor/{_TARGETS.get(name, name)}"
    size, digest = _KNOWN.get(name, (0, ""))
    return Program(
        package="@openai/codex",
        version=f"{TESTED_VERSION}-{name}",
        member=f"{root}/bin/codex",
        size=size,
        sha256=digest,
        root=root,
    )


def home(environment: Mapping[str, str]) -> Path:
    """The folder of Codex's configuration, login and threads."""
    named = environment.get("CODEX_HOME")
    return Path(named) if named else Path(environment.get("HOME") or Path.home()) / ".codex"


class _Login(Struct, frozen=True):
    tokens: object = None
    key: object = msgspec.field(default=None, name="OPENAI_API_KEY")


def login(environment: Mapping[str, str]) -> str | None:
    """The account or key in use, or None. Secrets are not shown."""
    try:
        found = msgspec.json.decode((home(environment) / "auth.json").read_bytes(), type=_Login)
    except (OSError, msgspec.MsgspecError):
        found = _Login()
    if found.tokens:
        return "a ChatGPT account"
    if found.key:
        return "an API key that Codex keeps"
    return KEY_VARIABLE if environment.get(KEY_VARIABLE) else None


IDENTITY = ProgramIdentity("codex", "Codex", BINARY_VARIABLE, TESTED_VERSION, pinned, login)
