"""Finds settings in a directory that would bypass the session's permissions, because Amp applies them first.

Checked at each start of Amp. What the user's own settings allow is trusted.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from everyagent.agents.amp import settings
from everyagent.agents.amp.modes import BYPASS
from everyagent.agents.amp.permissions import READERS
from everyagent.agents.amp.settings import Settings
from everyagent.errors import AgentFailed
from everyagent.model.policies import UNRESTRICTED, ToolPolicies

_LOOSE = ("allow", "delegate")
#: Amp starts the MCP servers of every skill it finds here, in the directory and in those above it.
_SKILLS = (".agents/skills", ".claude/skills")


class UntrustedSetting(Struct, frozen=True):
    file: Path
    what: str


def refuse(directory: Path, mode: str, policies: ToolPolicies, user: Settings, environment: Mapping[str, str]) -> None:
    """Raises `AgentFailed` if tools or programs would run without the permission that the session demands."""
    if mode == BYPASS and policies == UNRESTRICTED:
        return
    if policies != UNRESTRICTED and any(rule.get("action") == "delegate" for rule in settings.rules_of(user)):
        raise AgentFailed(
            f"The user's own Amp settings have a `delegate` in `{settings.RULES}`, which replaces the hook that "
            "enforces the session's tool policies. Remove the rule, or leave `toolPolicies` out."
        )
    instead = "use the permission mode `bypass`" if policies == UNRESTRICTED else "take the tool policies back"
    for loophole in _found(directory, policies, user, Path(environment.get("HOME") or Path.home())):
        raise AgentFailed(
            f"{loophole.file} {loophole.what}, so this session's permissions cannot be enforced. Remove it there; "
            f"if you trust it, allow it in your own Amp settings, or {instead}."
        )


def _found(directory: Path, policies: ToolPolicies, user: Settings, home: Path) -> Iterator[UntrustedSetting]:
    file, found = settings.of_directory(directory)
    if found.get(settings.ALLOW_ALL) is True:
        yield UntrustedSetting(file, f"sets `{settings.ALLOW_ALL}`")
    for key in (settings.RULES, settings.SERVER_RULES):
        for number, rule in enumerate(settings.rules_of(found, key), 1):
            if rule.get("action") in _LOOSE and (rule.get("tool") not in READERS or policies != UNRESTRICTED):
                words = msgspec.json.encode(rule).decode()
                yield UntrustedSetting(
                    file, f"has a rule that takes precedence over permission requests (`{key}`, rule {number}: {words})"
                )
    if not settings.rules_of(user, settings.SERVER_RULES):
        for servers in _servers_of_skills(directory, home):
            yield UntrustedSetting(servers, "makes Amp start MCP servers unasked")


def _servers_of_skills(directory: Path, home: Path) -> Iterator[Path]:
    """MCP files of skills in the directory and above it, except those in the user's home, which are trusted."""
    for folder in (directory, *directory.parents):
        if folder != home:
            for skills in _SKILLS:
                yield from sorted((folder / skills).glob("*/mcp.json"))
