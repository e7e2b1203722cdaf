"""Describes a permission request in full: the whole command or diff, and what the answer `always` will allow. Pure."""

from itertools import dropwhile

import msgspec
from msgspec import Struct
from rich.text import Text

from everyagent.agents import diffs
from everyagent.cli.ask_text import compact
from everyagent.model.events import PermissionRequested
from everyagent.model.parts import Json

_INDENT = "    "
_STYLES = {"+": "green", "-": "red", "@": "cyan"}
_NAMING = ("Index: ", "=====", "--- ", "+++ ")
_PLACES = {"localSettings": "this project", "projectSettings": "this project", "userSettings": "all projects"}


class _Change(Struct):
    """One file of a request to edit several."""

    path: str
    diff: str


class _Rule(Struct, rename="camel"):
    """A rule of Claude Code."""

    tool_name: str
    rule_content: str | None = None


class _Suggestion(Struct):
    """The fields of all agents' suggestions. An agent's own answers have a `name` and a `kind`."""

    rules: list[_Rule] = []
    destination: str = ""
    directories: list[str] = []
    mode: str | None = None
    allow_prefix: list[str] = []
    always: list[str] | str = []
    tool: str | None = None
    detail: str | None = None
    kind: str | None = None
    name: str | None = None


def request_text(ask: PermissionRequested) -> Text:
    """Nothing is left out: a person decides by this text."""
    tool = ask.tool or ask.action
    match ask.input:
        case {"command": str(command)}:
            return _whole(f"{tool} wants to run:", command)
        case {"changes": changes} if files := _changes(changes):
            return Text("\n").join(_diff(f"{tool} wants to change {each.path}:", each.diff) for each in files)
        case {"diff": str(diff)}:
            return _diff(f"{tool} wants to change {_path(ask.input)}:", diff)
        case {"old_string": str(before), "new_string": str(after)} | {"old_str": str(before), "new_str": str(after)}:
            return _diff(f"{tool} wants to change {_path(ask.input)}:", _edit(before, after))
        case {"content": str(content), **others} if _path(others):
            return _diff(f"{tool} wants to write {_path(others)}:", _edit("", content))
        case None | str():
            return _whole(f"{tool} wants to run:", ask.input or "")
        case dict() if len(ask.input) == 1 and isinstance(only := next(iter(ask.input.values())), str):
            return _whole(f"{tool} wants to run:", only)
        case _:
            pretty = msgspec.json.format(msgspec.json.encode(ask.input), indent=2)
            return _whole(f"{tool} wants to run:", pretty.decode())


def always_allows(ask: PermissionRequested) -> str:
    """The calls that the agent allows by itself after the reply `always`, if it names them."""
    tool = ask.tool or ask.action
    offered = [words for each in ask.suggestions if (words := _allowed(each, tool))]
    choices = any(isinstance(each, dict) and "kind" in each for each in ask.suggestions)  # the agent's own answers
    return (" or " if choices else ", ").join(offered) or f"such calls of {tool}, for the rest of the session"


def _allowed(suggestion: Json, tool: str) -> str | None:
    try:
        offered = msgspec.convert(suggestion, _Suggestion)
    except msgspec.ValidationError:
        return compact(suggestion)
    match offered:
        case _Suggestion(rules=[_, *_]):
            return f"{', '.join(map(_rule, offered.rules))} in {_PLACES.get(offered.destination, 'this session')}"
        case _Suggestion(directories=[_, *_]):
            return f"work in {', '.join(offered.directories)}"
        case _Suggestion(mode=str(mode)):
            return f"everything of the mode {mode}"
        case _Suggestion(allow_prefix=[_, *_]):
            return f"commands that begin with `{' '.join(offered.allow_prefix)}`"
        case _Suggestion(always=str(name)):
            return f"every call of {name}"
        case _Suggestion(always=[_, *_]):
            return ", ".join(f"{tool}({pattern})" for pattern in offered.always)
        case _Suggestion(tool=str(name)):
            return _rule(_Rule(tool_name=name, rule_content=offered.detail))
        case _Suggestion(kind=str(kind), name=str(name)):
            return f"“{name}”" if kind == "allow_always" else None
        case _:
            return compact(suggestion)


def _rule(rule: _Rule) -> str:
    return f"{rule.tool_name}({rule.rule_content})" if rule.rule_content else f"every call of {rule.tool_name}"


def _changes(changes: object) -> list[_Change]:
    try:
        return msgspec.convert(changes, list[_Change])
    except msgspec.ValidationError:
        return []


def _path(input: Json) -> str:
    names = ("file_path", "filepath", "filePath", "path")
    return next((str(input[name]) for name in names if name in input), "") if isinstance(input, dict) else ""


def _edit(before: str, after: str) -> str:
    """The lines of the diff alone: where in the file they are is not known."""
    lines = diffs.changed("", before, after).split("\n")[2:]
    return "\n".join(line for line in lines if not line.startswith(("@@", "\\")))


def _whole(title: str, text: str) -> Text:
    lines = text.rstrip("\n").split("\n")
    if len(lines) == 1:
        return Text(f"{title} {lines[0]}", style="yellow")
    return Text("\n".join([title, *(_INDENT + line for line in lines)]), style="yellow")


def _diff(title: str, diff: str) -> Text:
    """The title names the file: the lines that do so before the first hunk are left out."""
    whole = dropwhile(lambda line: line.startswith(_NAMING), diff.rstrip("\n").split("\n"))
    lines = [Text(_INDENT + line, style=_STYLES.get(line[:1], "")) for line in whole]
    return Text("\n").join([Text(title, style="yellow"), *lines])
