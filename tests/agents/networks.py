"""Tests of `allowedHosts` for every agent, through the API. Each agent's folder runs them with its own scene."""

import pytest
from tests.agents.offline import needs_isolation
from tests.agents.policies import Scene
from tests.agents.stage import Model, Stage


@needs_isolation
class NetworkRules:
    """Tests that need a fixture `scene` in the subclass's module."""

    def test_commands_of_a_sub_agent_have_the_network_of_its_parent(
        self, scene: Scene[Stage[Model]], attempt: str
    ) -> None:
        if scene.subagent is None:
            pytest.skip("it has none that a scripted model could call")
        scene.session.create(permissionMode="bypass", allowedHosts=[], model=scene.model)
        scene.subagent_turn(attempt)
        scene.session.until(lambda: scene.made("tried") or None)
        assert not scene.made("reached")
        scene.rested()

    def test_allowed_hosts_are_shown_and_inherited_by_a_fork(self, scene: Scene[Stage[Model]], attempt: str) -> None:
        session = scene.session
        session.create(permissionMode="bypass", allowedHosts=["https://Example.org/x", "*.example.com", "example.org"])
        assert session.info()["allowedHosts"] == ["example.org", "*.example.com"]
        session.id = session.call("POST", f"/sessions/{session.id}/fork", {}).json()["sessionId"]
        assert session.info()["allowedHosts"] == ["example.org", "*.example.com"]
        scene.shell_turn(attempt)
        session.until(lambda: scene.made("tried") or None)
        assert not scene.made("reached")
        scene.rested()
