"""Tests of tool policies for every agent, through the API. Each agent's folder runs them with its own scene."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import ClassVar, Generic, TypeVar

import pytest
from tests.agents.stage import Model, Stage

from everyagent.model.events import PermissionRequested, PermissionResolved, SessionUpdated, ToolRequested
from everyagent.model.parts import ToolCallPart, ToolResultPart
from everyagent.model.policies import ToolPolicies

S = TypeVar("S", bound=Stage[Model])
REFUSED = "tool policies do not allow"
WEATHER = {"name": "get_weather", "description": "The weather.", "inputSchema": {"type": "object"}}


class Scene(ABC, Generic[S]):
    """An agent with a scripted model. Every `*_turn` sends a message and does not wait for the turn."""

    #: What the agent itself calls its shell, and the tool that starts a sub-agent (None: it has none).
    shell: ClassVar[str]
    subagent: ClassVar[str | None]
    #: The session's MCP server, and the one tool that `mcp_turn` calls.
    server: ClassVar[str] = "sums"
    tool: ClassVar[str] = "add"
    #: One whose tools include sub-agents, where not every model's do.
    model: ClassVar[str | None] = None
    weather: ClassVar[Mapping[str, object]] = WEATHER
    #: Whether the reason for a denial reaches the model, and whether the agent can run without its own tools.
    reasons: ClassVar[bool] = True
    own_tools_off: ClassVar[bool] = True

    def __init__(self, session: S) -> None:
        self.session = session

    @abstractmethod
    def shell_turn(self, *commands: str) -> None:
        """A turn in which the agent runs the commands in order."""

    @abstractmethod
    def subagent_turn(self, command: str) -> None:
        """A turn in which a sub-agent runs the command."""

    @abstractmethod
    def mcp_turn(self) -> None: ...

    @abstractmethod
    def custom_turn(self) -> None:
        """A turn in which the agent calls the custom tool `get_weather`."""

    def servers(self) -> dict[str, object]:
        """The MCP servers of the session."""
        return {}

    @abstractmethod
    def model_input(self) -> str:
        """All results of its calls that the model received."""

    # -- actions and results ------------------------------------------------------------------------------------

    def create(self, mode: str, **policies: object) -> None:
        """Create the session with a custom tool and an MCP server."""
        self.session.create(
            permissionMode=mode, toolPolicies=policies, tools=[self.weather], mcp=self.servers(), model=self.model
        )

    def made(self, name: str = "made.txt") -> bool:
        return (self.session.workspace / name).exists()

    def rested(self) -> None:
        """Wait until no turn runs and no message is queued."""

        def still() -> bool:
            info = self.session.info()
            return info["status"] in ("idle", "hibernated") and not info["queuedMessages"]

        self.session.until(lambda: still() or None)

    def explained(self, reason: str) -> bool:
        """Whether the reason reached the model, where the agent's protocol has a place for one."""
        return not self.reasons or reason in self.model_input()

    def asked(self, number: int = 1) -> PermissionRequested:
        return self.session.next(PermissionRequested, number)

    def permits(self, number: int, reply: str, message: str | None = None) -> None:
        self.session.permit(self.asked(number).permission_id, reply, message)

    def asks(self) -> int:
        return len(self.session.all(PermissionRequested))

    def outputs(self) -> str:
        parts = [part for item in self.session.items("tool_result") for part in item.content]
        return "\n".join(part.output for part in parts if isinstance(part, ToolResultPart))

    def called(self) -> list[str]:
        parts = [part for item in self.session.items("tool_call") for part in item.content]
        return [part.name for part in parts if isinstance(part, ToolCallPart)]


class PolicyRules:
    """Tests that need a fixture `scene` in the subclass's module."""

    def test_an_ask_policy_asks_even_in_bypass_mode(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        scene.shell_turn("touch made.txt")
        asked = scene.asked()
        assert asked.options == ["once", "reject"]
        assert "touch made.txt" in str(asked.input)
        (call,) = scene.session.items("tool_call")
        assert asked.item_id == call.item_id
        assert not scene.made()
        scene.permits(1, "once")
        scene.rested()
        assert scene.made()
        assert scene.asks() == 1

    def test_a_rejected_call_does_not_run_and_the_reason_reaches_the_model(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        scene.shell_turn("touch made.txt")
        scene.permits(1, "reject", "Not in this folder")
        scene.rested()
        assert not scene.made()
        assert scene.explained("Not in this folder")
        assert [each.status for each in scene.session.all(PermissionResolved)] == ["denied"]

    def test_an_ask_policy_asks_for_every_call(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        scene.shell_turn("touch made.txt", "touch made.txt")
        scene.permits(1, "always")
        scene.permits(2, "once")
        scene.rested()
        assert scene.asks() == 2

    @pytest.mark.parametrize("mode", ["default", "bypass"])
    def test_a_denied_call_does_not_run_and_the_reason_reaches_the_model(
        self, scene: Scene[Stage[Model]], mode: str
    ) -> None:
        scene.create(mode, tools={"bash": "deny"})
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert not scene.made()
        assert scene.asks() == 0
        assert scene.explained(REFUSED)
        assert REFUSED in scene.outputs() or not scene.reasons

    def test_an_allow_policy_runs_a_call_without_asking(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("default", tools={"bash": "allow"})
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert scene.made()
        assert scene.asks() == 0

    def test_a_policy_for_the_agents_own_tool_name_takes_precedence(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "deny", scene.shell: "allow"})
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert scene.made()
        assert scene.asks() == 0

    def test_a_tool_without_a_policy_follows_the_mode(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"web_fetch": "deny"})
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert scene.made()
        assert scene.asks() == 0

    def test_the_default_applies_to_tools_that_are_not_named(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", default="deny", mcp={scene.server: {"default": "allow"}})
        scene.mcp_turn()
        scene.rested()
        assert REFUSED not in scene.outputs()
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert not scene.made()
        assert REFUSED in scene.outputs() or not scene.reasons

    def test_policies_apply_to_calls_of_a_sub_agent(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        if scene.subagent is None:
            pytest.skip("it has none that a scripted model could call")
        scene.subagent_turn("touch made.txt")
        asked = scene.asked()
        assert "touch made.txt" in str(asked.input)
        assert not scene.made()
        scene.permits(1, "reject", "Not here")
        scene.rested()
        assert not scene.made()

    @pytest.mark.parametrize(("by_tool", "by_server"), [("ask", "allow"), ("deny", "allow"), (None, "ask")])
    def test_policies_of_mcp_tools_are_set_by_server_and_tool(
        self, scene: Scene[Stage[Model]], by_tool: str | None, by_server: str
    ) -> None:
        policies = {"default": by_server, "tools": {scene.tool: by_tool} if by_tool else {}}
        scene.create("bypass", mcp={scene.server: policies})
        scene.mcp_turn()
        if by_tool != "deny":
            scene.permits(1, "reject", "No sums today")
        scene.rested()
        assert scene.explained(REFUSED if by_tool == "deny" else "No sums today")
        assert scene.asks() == (0 if by_tool == "deny" else 1)

    def test_policies_can_be_changed_during_a_session(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass")
        scene.shell_turn("touch free.txt")
        scene.rested()
        assert scene.made("free.txt")
        scene.session.change(toolPolicies={"tools": {"bash": "ask"}})
        assert scene.session.info()["toolPolicies"] == {
            "default": "auto",
            "tools": {"bash": "ask"},
            "mcp": {},
            "ownTools": True,
        }
        told = [each.tool_policies for each in scene.session.all(SessionUpdated)]
        assert ToolPolicies(tools={"bash": "ask"}) in told
        scene.shell_turn("touch asked.txt")
        scene.permits(1, "once")
        scene.rested()
        assert scene.made("asked.txt")
        scene.session.change(toolPolicies={"tools": {"bash": "deny"}})
        scene.shell_turn("touch denied.txt")
        scene.rested()
        assert not scene.made("denied.txt")
        scene.session.change(toolPolicies={})
        scene.shell_turn("touch free-again.txt")
        scene.rested()
        assert scene.made("free-again.txt")
        assert scene.asks() == 1

    def test_a_policy_change_applies_to_the_running_turn(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        scene.shell_turn("touch first.txt", "touch second.txt")
        scene.asked()
        scene.session.change(toolPolicies={"tools": {"bash": "deny"}})
        scene.permits(1, "once")
        scene.rested()
        assert not scene.made("second.txt")
        assert scene.explained(REFUSED)

    def test_policies_survive_a_restart_of_the_daemon(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"bash": "ask"})
        scene.shell_turn("touch first.txt")
        scene.permits(1, "once")
        scene.rested()
        scene.session.daemon.kill()
        scene.session.daemon.start()
        scene.shell_turn("touch second.txt")
        asked = scene.asked(2)
        assert not scene.made("second.txt")
        scene.session.permit(asked.permission_id, "reject")
        scene.rested()
        assert not scene.made("second.txt")

    def test_an_agent_without_its_own_tools_has_only_the_custom_tools(self, scene: Scene[Stage[Model]]) -> None:
        if not scene.own_tools_off:
            scene.create("bypass")
            refused = {"toolPolicies": {"ownTools": False}}
            scene.session.call("PATCH", f"/sessions/{scene.session.id}", refused, expect=400)
            return
        scene.create("bypass", ownTools=False)
        scene.shell_turn("touch made.txt")
        scene.rested()
        assert not scene.made()
        scene.custom_turn()
        wanted = scene.session.next(ToolRequested)
        scene.session.call("POST", f"/sessions/{scene.session.id}/tools/{wanted.tool_id}/reply", {"output": "Rain"})
        scene.rested()
        assert "Rain" in scene.model_input()
        assert scene.asks() == 0

    def test_a_custom_tool_is_asked_for_only_if_a_policy_names_it(self, scene: Scene[Stage[Model]]) -> None:
        scene.create("bypass", tools={"get_weather": "ask"})
        scene.custom_turn()
        scene.permits(1, "reject", "It is secret")
        scene.rested()
        assert scene.explained("It is secret")
        assert scene.session.all(ToolRequested) == []

    def test_a_policy_for_an_unknown_tool_is_refused(self, scene: Scene[Stage[Model]]) -> None:
        body = {"agent": scene.session.agent, "toolPolicies": {"tools": {"bsah": "deny"}}}
        tools = scene.session.call("GET", f"/agents/{scene.session.agent}/tools").json()
        scene.create("bypass")
        if tools["openTools"]:
            assert scene.session.call("POST", "/sessions", body).status_code == 200
            return
        problem = scene.session.call("POST", "/sessions", body, expect=400).json()
        assert problem["code"] == "not_supported"
        assert "bsah" in problem["detail"]
        assert scene.shell in problem["choices"]
        scene.session.call("PATCH", f"/sessions/{scene.session.id}", {"toolPolicies": body["toolPolicies"]}, expect=400)
