"""Decides what a tool may do in each permission mode. Resolves links on disk; otherwise pure. Used by `asks.py`."""

import os
import re
from pathlib import Path
from typing import Literal, TypeAlias, assert_never

from msgspec import Raw, Struct

from everyagent.agents.amp.modes import BYPASS, PLAN
from everyagent.agents.amp.policies import BY_NAME, verdict
from everyagent.agents.amp.results import SHELLS, input_of
from everyagent.agents.web_fetch import fetch_refusal
from everyagent.model.policies import UNRESTRICTED, ToolPolicies, refusal

#: How Amp's own settings treat a call: a rule allows it, a rule demands a question, or no rule matches.
Standing: TypeAlias = Literal["allowed", "asked", "unsettled"]

#: Tools that only read, on this machine or in Amp's threads. They need no permission.
READERS = ("Read", "glob", "Glob", "Grep", "skill", "shell_command_status", "find_thread", "read_thread")
#: Tools that read from addresses that the agent chooses.
BROWSERS = frozenset({"web_search", "read_web_page", "read_mcp_resource"})
EDITORS = frozenset({"create_file", "edit_file", "delete_file", "apply_patch"})
#: Files here decide what runs later, so `acceptEdits` does not cover them.
GUARDED = frozenset({".amp", ".agents", ".git", ".vscode", ".idea"})

_PATCHED = re.compile(r"^\*\*\* (?:Add File|Update File|Delete File|Move to): (.+)$", re.MULTILINE)


class AmpToolRequest(Struct, frozen=True):
    """A tool call that Amp wants to make."""

    tool: str
    input: Raw
    standing: Standing = "unsettled"


class Allowed(Struct, frozen=True):
    """It may run."""


class Rejected(Struct, frozen=True):
    """It may not run, with the reason."""

    reason: str


class MustAsk(Struct, frozen=True):
    """The client must be asked. `always` is the rule that the answer `always` stores; None to ask each time."""

    always: "AllowRule | None"


class AllowRule(Struct, frozen=True, order=True):
    """A tool that may run from now on; of a shell the same command only, of an editor outside the directory the
    same files only.
    """

    tool: str
    detail: str = ""


Decision: TypeAlias = Allowed | Rejected | MustAsk

_PLANNING = "The session is in plan mode: nothing may be changed or run. Describe what you would do instead."


def decide(
    wish: AmpToolRequest, mode: str, directory: Path, always: set[AllowRule], policies: ToolPolicies = UNRESTRICTED
) -> Decision:
    """Policies come first, except that `allow` has no effect in plan mode."""
    if elsewhere := fetch_refusal(policies, BY_NAME.get(wish.tool), wish.input):
        return Rejected(elsewhere)
    match verdict(policies, wish.tool):
        case "deny":
            return Rejected(refusal(wish.tool))
        case "ask":
            return Rejected(_PLANNING) if mode == PLAN and wish.tool not in (*READERS, *BROWSERS) else MustAsk(None)
        case "allow" if mode != PLAN:
            return Allowed()
        case "allow" | "auto":
            return _by_mode(wish, mode, directory, always)


def _by_mode(wish: AmpToolRequest, mode: str, directory: Path, always: set[AllowRule]) -> Decision:
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
            return MustAsk(rule)
        case "unsettled":
            return Allowed() if at_home and mode == "acceptEdits" else MustAsk(rule)
        case _:
            assert_never(wish.standing)


def files_of(wish: AmpToolRequest, directory: Path) -> list[Path] | None:
    """The files that an editor would write, with links resolved; None if they are unknown."""
    input = input_of(wish.input)
    names = _PATCHED.findall(input.patchText) if wish.tool == "apply_patch" else [input.path] if input.path else []
    return [Path(os.path.realpath(directory / os.path.expanduser(name.strip()))) for name in names] or None


def _rule(wish: AmpToolRequest, directory: Path) -> AllowRule:
    if wish.tool in SHELLS:
        input = input_of(wish.input)
        where = f" (in {input.workdir})" if input.workdir else ""
        return AllowRule("shell_command", f"{input.command}{where}" if input.command else bytes(wish.input).decode())
    if wish.tool not in EDITORS:
        return AllowRule(wish.tool)
    files = files_of(wish, directory)
    if files and all(_at_home(file, Path(os.path.realpath(directory))) for file in files):
        return AllowRule(wish.tool)
    return AllowRule(wish.tool, "\n".join(map(str, files)) if files else bytes(wish.input).decode())


def _at_home(file: Path, directory: Path) -> bool:
    return file.is_relative_to(directory) and not GUARDED & {part.lower() for part in file.relative_to(directory).parts}
