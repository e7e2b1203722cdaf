"""The Claude Code program: package, tested version, login."""

from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.agents import packages
from everyagent.agents.installed import ProgramIdentity
from everyagent.agents.packages import Program

TESTED_VERSION = "2.1.325"
BINARY_VARIABLE = "EVERYAGENT_CLAUDE_BIN"
_KNOWN = {"linux-x64": (365_842_960, "0dc4f4a9a165fc60746d7ae8489712e5fc352f1e7ad4eb22e7141bd0812eb0cf")}
_KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN")
_CLOUDS = ("CLAUDE_CODE_USE_BEDROCK", "CLAUDE_CODE_USE_VERTEX")


def pinned() -> Program:
    """The native binary for this platform; the main npm package is only a wrapper."""
    name = packages.platform_name()
    size, digest = _KNOWN.get(name, (0, ""))
    return Program(
        package=f"@anthropic-ai/claude-code-{name}",
        version=TESTED_VERSION,
        member="package/claude",
        size=size,
        sha256=digest,
    )


class _Account(Struct, frozen=True, rename="camel"):
    email_address: str | None = None


class _Settings(Struct, frozen=True, rename="camel"):
    oauth_account: _Account | None = None


def login(environment: Mapping[str, str]) -> str | None:
    """The account in use, in a few words; None if there is none. Secrets are not read."""
    for name in _KEYS:
        if environment.get(name):
            return name
    for name in _CLOUDS:
        if environment.get(name):
            return name.removeprefix("CLAUDE_CODE_USE_").title()
    home = Path(environment.get("HOME") or Path.home())
    folder = Path(environment.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    if not (folder / ".credentials.json").is_file():
        return None
    return _email(home / ".claude.json") or "a Claude account"


def native(environment: Mapping[str, str]) -> list[Path]:
    """The files and folders that Claude Code keeps its settings, login and history in."""
    home = Path(environment.get("HOME") or Path.home())
    named = environment.get("CLAUDE_CONFIG_DIR")
    return [Path(named)] if named else [home / ".claude", home / ".claude.json"]


def _email(path: Path) -> str | None:
    try:
        settings = msgspec.json.decode(path.read_bytes(), type=_Settings)
    except (OSError, msgspec.MsgspecError):
        return None
    return settings.oauth_account.email_address if settings.oauth_account else None


IDENTITY = ProgramIdentity("claude", "Claude Code", BINARY_VARIABLE, TESTED_VERSION, pinned, login)
