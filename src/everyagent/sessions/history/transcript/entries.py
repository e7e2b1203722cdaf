"""The entries of a transcript."""

from typing import TypeAlias

from msgspec import Struct

from everyagent.model.asks import AskKind
from everyagent.model.items import ItemRole


class Entry(Struct, frozen=True, kw_only=True):
    """`depth` is the nesting level of sub-agents; 0 for the agent itself."""

    sequence: int
    time: str
    depth: int = 0


class MessageEntry(Entry, frozen=True, kw_only=True):
    role: ItemRole | None
    text: str


class Thought(Entry, frozen=True, kw_only=True):
    text: str


class Called(Entry, frozen=True, kw_only=True):
    """`tool` is prefixed with the MCP server, if it has one."""

    tool: str
    arguments: str


class Returned(Entry, frozen=True, kw_only=True):
    tool: str
    output: str
    is_error: bool
    exit_code: int | None


class Changed(Entry, frozen=True, kw_only=True):
    """A file that was read, written or patched."""

    path: str
    action: str
    diff: str | None


class Pictured(Entry, frozen=True, kw_only=True):
    path: str
    mime: str | None
    data: str | None


class Asked(Entry, frozen=True, kw_only=True):
    """`outcome` is None while there is no answer."""

    kind: AskKind
    prompt: str
    outcome: str | None


class Failed(Entry, frozen=True, kw_only=True):
    """`detail` is what the agent wrote to stderr."""

    message: str
    code: str | None
    detail: str | None = None


class Noted(Entry, frozen=True, kw_only=True):
    label: str
    detail: str | None


AnyEntry: TypeAlias = MessageEntry | Thought | Called | Returned | Changed | Pictured | Asked | Failed | Noted

SPEAKERS: dict[ItemRole | None, str] = {
    "user": "User",
    "assistant": "Assistant",
    "system": "System",
    "tool": "Tool",
    None: "Note",
}
ASKED: dict[AskKind, str] = {
    "permission": "Asked for permission",
    "question": "Asked a question",
    "tool": "Asked to run a tool",
}
