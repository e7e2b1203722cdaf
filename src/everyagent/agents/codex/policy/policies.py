"""Codex's tools, and the verdict of the tool policies on each call that a hook reports. Pure."""

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.codex.decode import tools
from everyagent.agents.codex.protocol.wire_items import CodexItem
from everyagent.model.policies import AgentTool, ToolPolicies, Verdict

#: The MCP server of the session's custom tools, whose policies the daemon applies itself.
CUSTOM_SERVER = "everyagent"

#: Run by the model's provider, so no hook is called: they can only be switched off.
_SWITCHED: list[Verdict] = ["allow", "deny", "auto"]
_COLLABORATION = "collaboration"
TOOLS = [
    AgentTool(name="shell", kinds=["bash"]),
    AgentTool(name="apply_patch", kinds=["write", "edit"]),
    AgentTool(name="view_image", kinds=["read"]),
    AgentTool(name="web_search", kinds=["web_search"], verdicts=_SWITCHED),
    AgentTool(name="image_generation", verdicts=_SWITCHED),
    AgentTool(name="request_user_input", by_name=True),
    *(
        AgentTool(name=name)
        for name in (
            *("update_plan", "get_goal", "create_goal", "update_goal", "tool_search", "sleep", "spawn_agent"),
            *("send_input", "send_message", "followup_task", "wait_agent", "interrupt_agent", "list_agents"),
            *("close_agent", "resume_agent", "list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource"),
        )
    ),
]
_BY_NAME = {tool.name: tool for tool in TOOLS}
#: Names in hooks, and the names that items have.
_ALIASES = {"Bash": tools.SHELL, "exec_command": tools.SHELL, "Write": tools.PATCH, "Edit": tools.PATCH}


class HookCall(Struct, frozen=True, kw_only=True):
    """The input of a hook. `session_id` is the session's own thread, `agent_id` that of a sub-agent."""

    session_id: str
    tool_name: str
    tool_input: Raw = Raw(b"{}")
    tool_use_id: str = ""
    agent_id: str | None = None
    cwd: str = ""

    @property
    def thread(self) -> str:
        return self.agent_id or self.session_id

    @property
    def server_and_tool(self) -> tuple[str | None, str]:
        if self.tool_name.startswith("mcp__"):
            server, found, tool = self.tool_name.removeprefix("mcp__").partition("__")
            if found:
                return server, tool
        name = self.tool_name.removeprefix(_COLLABORATION)
        return None, _ALIASES.get(name, name)

    def verdict(self, policies: ToolPolicies) -> Verdict:
        server, tool = self.server_and_tool
        if server == CUSTOM_SERVER:
            return "auto"
        return server_verdict(policies, server, tool) if server else own_verdict(policies, tool)

    @property
    def item(self) -> CodexItem:
        """The item that Codex would send for the call."""
        server, tool = self.server_and_tool
        if server:
            return CodexItem(
                type="mcpToolCall", id=self.tool_use_id, server=server, tool=tool, arguments=self.tool_input
            )
        return CodexItem(type="dynamicToolCall", id=self.tool_use_id, tool=tool, arguments=self.tool_input)

    @property
    def itemized(self) -> bool:
        """Codex sends an item with the call's own id when it runs."""
        server, tool = self.server_and_tool
        return server is not None or tool in (tools.SHELL, tools.PATCH, "view_image")


_hook_calls = msgspec.json.Decoder(HookCall)


def hook_call(body: bytes) -> HookCall:
    """Raises `msgspec.MsgspecError`."""
    return _hook_calls.decode(body)


def own_verdict(policies: ToolPolicies, tool: str) -> Verdict:
    return policies.verdict(_BY_NAME.get(tool, AgentTool(name=tool)))


def server_verdict(policies: ToolPolicies, server: str, tool: str) -> Verdict:
    """Codex spells a server's name so that its model can call it; policies have the session's spelling."""
    named = next((name for name in policies.mcp if _callable(name) == server), server)
    return policies.server_verdict(named, tool)


def _callable(name: str) -> str:
    return "".join(letter if (letter.isascii() and letter.isalnum()) or letter in "_-" else "_" for letter in name)
