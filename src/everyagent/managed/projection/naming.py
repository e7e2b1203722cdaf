"""Ids derived from their subject, and tool names of the Managed Agents API."""

import hashlib
from base64 import b32encode
from typing import Final, NamedTuple

import msgspec

from everyagent.model.parts import Json, Object

QUESTION_TOOL: Final = "ask_user_question"
TOOLSET: Final = ("bash", "read", "write", "edit", "glob", "grep", "web_fetch", "web_search")
_MCP_PREFIX: Final = "mcp__"
_TOOLSET_NAMES: Final = {
    "bash": "bash",
    "shell": "bash",
    "shellcommand": "bash",
    "commandexecution": "bash",
    "execcommand": "bash",
    "read": "read",
    "readfile": "read",
    "viewfile": "read",
    "write": "write",
    "writefile": "write",
    "createfile": "write",
    "edit": "edit",
    "editfile": "edit",
    "multiedit": "edit",
    "patch": "edit",
    "applypatch": "edit",
    "filechange": "edit",
    "glob": "glob",
    "grep": "grep",
    "webfetch": "web_fetch",
    "readwebpage": "web_fetch",
    "websearch": "web_search",
}


def event_id(session_id: str, *source: object) -> str:
    return _id("sevt_", session_id, *source)


def thread_id(session_id: str, item_id: str = "primary") -> str:
    return _id("sthr_", session_id, item_id)


def _id(prefix: str, *source: object) -> str:
    digest = hashlib.blake2b("\0".join(map(str, source)).encode(), digest_size=15).digest()
    return prefix + b32encode(digest).decode().lower()


class ManagedToolName(NamedTuple):
    name: str
    server: str | None


def tool_name(native: str, server: str | None) -> ManagedToolName:
    """The toolset's name for a native tool; for an MCP tool its name and its server."""
    if native.startswith(_MCP_PREFIX):
        named, _, tool = native.removeprefix(_MCP_PREFIX).partition("__")
        return ManagedToolName(tool or native, server or named)
    if server:
        return ManagedToolName(native, server)
    plain = "".join(character for character in native.lower() if character.isalnum())
    return ManagedToolName(_TOOLSET_NAMES.get(plain, native), None)


def as_input(value: Json) -> Object:
    """A call's arguments as an object."""
    return dict(value) if isinstance(value, dict) else {} if value is None else {"input": value}


def parsed(arguments: str) -> Object:
    try:
        value: Json = msgspec.json.decode(arguments or "{}")
    except msgspec.DecodeError:
        value = arguments
    return as_input(value)
