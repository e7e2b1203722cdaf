"""What may a tool do in which permission mode? Pure but for looking where links on the disk lead. Used by `asks.py`."""

import os
import re
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from msgspec import Raw, Struct

from everyagent.agents.amp.modes import BYPASS, PLAN
from everyagent.agents.amp.policies import verdict
from everyagent.agents.amp.results import SHELLS, input_of
from everyagent.model.policies import UNRESTRICTED, ToolPolicies, refusal

#: What Amp's own settings say of a call: a rule allows it, a rule wants it asked, or none speaks of it.
Standing: TypeAlias = Literal["allowed", "asked", "unsettled"]

#: They only look, at what is on this machine or in Amp's own threads, so they are never asked for.
READERS = ("Read", "glob", "Glob", "Grep", "skill", "shell_command_status", "find_thread", "read_thread")
#: They look, but at addresses that the agent chooses.
BROWSERS = frozenset({"web_search", "read_web_page", "read_mcp_resource"})
EDITORS = frozenset({"create_file", "edit_file", "delete_file", "apply_patch"})
#: Who writes here decides what runs later, so accepting edits does not cover it.
GUARDED = frozenset({".amp", ".agents", ".git", ".vscode", ".idea"})

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)


class Wish(Struct, frozen=True):
    """What Amp wants to do."""

    tool: str
    input: Raw
    standing: Standing = "unsettled"


class Allowed(Struct, frozen=True):
    """It may run."""


class Rejected(Struct, frozen=True):
    """It may not, and why."""

    reason: str


class Asked(Struct, frozen=True):
    """Somebody has to be asked. `always` is the rule that would settle it for the session; None: each time anew."""

    always: "Rule | None"


class Rule(Struct, frozen=True, order=True):
    """A tool that may run from now on; of a shell the same command only, of an editor outside the directory the
    same files only.
    """

    tool: str
    detail: str = ""


Decision: TypeAlias = Allowed | Rejected | Asked

_PLANNING = "The session is in plan mode: nothing may be changed or run. Describe what you would do instead."


def decide(
    wish: Wish, mode: str, directory: Path, always: set[Rule], policies: ToolPolicies = UNRESTRICTED
) -> Decision:
    """Policies come first, but nothing is changed in plan mode, so `allow` has no say there."""
    match verdict(policies, wish.tool):
        case "deny":
            return Rejected(refusal(wish.tool))
        case "ask":
            return Rejected(_PLANNING) if mode == PLAN and wish.tool not in (*READERS, *BROWSERS) else Asked(None)
        case "allow" if mode != PLAN:
            return Allowed()
        case "allow" | "auto":
            return _by_mode(wish, mode, directory, always)


def _by_mode(wish: Wish, mode: str, directory: Path, always: set[Rule]) -> Decision:
    if mode == BYPASS or (wish.tool in READERS and wish.standing == "unsettled"):
        return Allowed()
    if mode == PLAN and wish.tool not in (*READERS, *BROWSERS):
        return Rejected(_PLANNING)
    rule = _rule(wish, directory)
    if rule in always:
        return Allowed()
    at_home = wish.tool in EDITORS and not rule.detail
    match wish.standing:
        case "allowed" if at_home or wish.tool not in EDITORS:
            return Allowed()
        case "allowed" | "asked":
            return Asked(rule)
        case "unsettled":
            return Allowed() if at_home and mode == "acceptEdits" else Asked(rule)
        case _:
            assert_never(wish.standing)


def files_of(wish: Wish, directory: Path) -> list[Path] | None:
    """What an editor would write, with every link followed; None if that cannot be told."""
    input = input_of(wish.input)
    names = _PATCHED.findall(input.patchText) if wish.tool == "apply_patch" else [input.path] if input.path else []
    return [Path(os.path.realpath(directory / os.path.expanduser(name.strip()))) for name in names] or None


def _rule(wish: Wish, directory: Path) -> Rule:
    if wish.tool in SHELLS:
        input = input_of(wish.input)
        where = f" (in {input.workdir})" if input.workdir else ""
        return Rule("shell_command", f"{input.command}{where}" if input.command else bytes(wish.input).decode())
    if wish.tool not in EDITORS:
        return Rule(wish.tool)
    files = files_of(wish, directory)
    if files and all(_at_home(file, Path(os.path.realpath(directory))) for file in files):
        return Rule(wish.tool)
    return Rule(wish.tool, "\n".join(map(str, files)) if files else bytes(wish.input).decode())


def _at_home(file: Path, directory: Path) -> bool:
    return file.is_relative_to(directory) and not GUARDED & {part.lower() for part in file.relative_to(directory).parts}
