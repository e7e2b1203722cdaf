"""Tools that a session adds to its agent: MCP servers, and custom tools that the client executes."""

from typing import Final, Literal, TypeAlias

from msgspec import Struct

from everyagent.model.parts import Json

#: The daemon's own MCP server in a session, which has the custom tools.
TOOLS_SERVER: Final = "everyagent"
#: Names the session whose agent sends a request to `/mcp`, and the variable from which `everyagent mcp` takes it.
SESSION_HEADER: Final = "x-everyagent-session"
SESSION_VARIABLE: Final = "EVERYAGENT_MCP_SESSION"
#: The folders of a directory in which agents that support skills look for them.
SKILL_FOLDERS: Final = (".claude/skills", ".agents/skills")


class McpLocal(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True, tag="local"
):
    """An MCP server that the agent starts."""

    command: list[str]
    env: dict[str, str] = {}
    cwd: str | None = None
    enabled: bool = True
    timeout_ms: int | None = None


class McpRemote(
    Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True, tag="remote"
):
    """An MCP server that the agent connects to over HTTP."""

    url: str
    headers: dict[str, str] = {}
    transport: Literal["http", "sse"] = "http"
    enabled: bool = True
    timeout_ms: int | None = None


McpServer: TypeAlias = McpLocal | McpRemote


class CustomTool(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A tool that the client executes: each call is an ask, and the client's answer is the result."""

    name: str
    description: str = ""
    input_schema: dict[str, Json] = {}
