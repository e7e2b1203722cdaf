"""Tool policies for Amp: its tools, and the verdict on a call. Pure."""

import re

from everyagent.agents.mcp_names import server_and_tool
from everyagent.model.policies import AgentTool, ToolPolicies, Verdict

#: The MCP server with the session's custom tools. The daemon itself applies policies to those.
TOOLS_SERVER = "everyagent"

_KINDS = {
    "shell_command": ["bash"],
    "Read": ["read"],
    "create_file": ["write"],
    "edit_file": ["edit"],
    "delete_file": ["write"],
    "apply_patch": ["write", "edit"],
    "glob": ["glob"],
    "Grep": ["grep"],
    "read_web_page": ["web_fetch"],
    "web_search": ["web_search"],
}
_OTHERS = (
    *("shell_command_status", "shell_command_kill", "skill", "find_thread", "read_thread", "read_mcp_resource"),
    *("load_plugin", "reload_plugins", "reload_skills", "reload_mcp"),
    *("download_thread_changes", "download_thread_file", "upload_thread_file"),
)
#: Amp's hooks use one name for each of these, so they share a policy.
_ALIASES = {"Bash": "shell_command", "async_shell_command": "shell_command", "Glob": "glob"}

TOOLS = [
    *(AgentTool(name=name, kinds=kinds, domains="web_fetch" in kinds) for name, kinds in _KINDS.items()),
    *(AgentTool(name=name) for name in _OTHERS),
]
BY_NAME = {tool.name: tool for tool in TOOLS}


def verdict(policies: ToolPolicies, name: str) -> Verdict:
    """The verdict on a tool, by Amp's own name for it."""
    server, tool = server_and_tool(name)
    if server == TOOLS_SERVER:
        return "auto"
    if server:
        named = next((known for known in policies.mcp if _written(known) == server), server)
        return policies.server_verdict(named, tool)
    name = _ALIASES.get(name, name)
    return policies.verdict(BY_NAME.get(name, AgentTool(name=name)))


def _written(server: str) -> str:
    """A server's name as Amp writes it in tool names."""
    return re.sub(r"[\s-]+", "_", server)
