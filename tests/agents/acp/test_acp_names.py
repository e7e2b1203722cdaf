"""Names of MCP tools over ACP, from agents that guess a call's kind from its name; and titles that a model writes."""

import msgspec
import pytest
from recorded_agents import profile_of

from everyagent.agents.acp.decode import AcpDecoder
from everyagent.agents.acp.effects import SettledAcpRequest
from everyagent.model.events import ItemCompleted, PermissionRequested
from everyagent.model.parts import ToolCallPart
from everyagent.model.policies import ServerPolicies, ToolPolicies
from everyagent.runtime.framing import Line

OPTIONS = [
    {"optionId": "yes", "kind": "allow_once", "name": "Allow once"},
    {"optionId": "no", "kind": "reject_once", "name": "Deny"},
]
POLICIES = ToolPolicies(default="allow", tools={"bash": "ask"}, mcp={"tickets": ServerPolicies(default="deny")})


class Copilot:
    def __init__(self) -> None:
        self.decoder = AcpDecoder(profile_of("copilot"), policies=POLICIES, servers=["tickets", "everyagent"])
        self.decoder.prompted(1, "Go")

    def call(self, **fields: object) -> ToolCallPart:
        """The call that a `tool_call` announces."""
        update = {"sessionUpdate": "tool_call", "toolCallId": "c1", "status": "pending", **fields}
        drafts = self._decode({"method": "session/update", "params": {"update": update}})
        (item,) = [draft.item for draft in drafts if isinstance(draft, ItemCompleted)]
        (part,) = item.content
        assert isinstance(part, ToolCallPart)
        return part

    def ask(self, **fields: object) -> str:
        """The result of a request for that call: the option that was chosen, or `asked`."""
        params = {"toolCall": {"toolCallId": "c1", **fields}, "options": OPTIONS}
        drafts = self._decode({"id": 7, "method": "session/request_permission", "params": params})
        if any(isinstance(draft, PermissionRequested) for draft in drafts):
            return "asked"
        (settled,) = self.decoder.effects
        assert isinstance(settled, SettledAcpRequest)
        return "yes" if b'"yes"' in msgspec.json.encode(settled.result) else "no"

    def _decode(self, message: dict[str, object]) -> list[object]:
        return list(self.decoder.decode(Line(msgspec.json.encode({"jsonrpc": "2.0", **message}))).drafts)


@pytest.mark.parametrize(
    ("name", "kind"), [("create_ticket", "edit"), ("run_query", "execute"), ("get_ticket", "read"), ("lookup", "other")]
)
def test_a_tool_of_a_server_is_named_whatever_its_kind(name: str, kind: str) -> None:
    copilot = Copilot()
    part = copilot.call(title=f"tickets-{name}", kind=kind, rawInput={"id": 1})
    assert (part.mcp_server, part.name) == ("tickets", name)
    assert copilot.ask(title=name, kind="other") == "no", "the policy of its server holds"
    custom = Copilot()
    assert custom.call(title=f"everyagent-{name}", kind=kind, rawInput={"id": 1}).mcp_server == "everyagent"
    assert custom.ask(title=name, kind="other") == "yes"


@pytest.mark.parametrize("given", [{"command": "rm -rf ."}, {"id": 1}])
def test_a_command_with_the_title_of_a_custom_tool_is_asked_as_a_command(given: dict[str, object]) -> None:
    copilot = Copilot()
    part = copilot.call(title="everyagent-lookup", kind="execute", rawInput=given)
    assert part.mcp_server is None or "command" not in given
    assert copilot.ask(title="everyagent-lookup", kind="execute") == "asked"
