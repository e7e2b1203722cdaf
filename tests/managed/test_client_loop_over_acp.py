"""The client loop of the documentation with agents over the Agent Client Protocol."""

from pathlib import Path

import pytest

from tests.agents.acp.acp_stage import AcpSession, surroundings
from tests.agents.stage import daemon_of
from tests.managed.raw import TOOLSET, WEATHER, Event, Raw, texts
from tests.managed.test_client_loop import FROM_START, MESSAGES, loop, step_of
from tests.scripted.chat_replies import calls, say
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer

#: The name of the custom tool for the model, by agent.
CUSTOM = {"copilot": "everyagent-get_weather", "kimi": "mcp__everyagent__get_weather"}
#: These agents never ask before they read.
ASKING = {
    "type": "agent_toolset_20260401",
    "configs": [{"name": "bash", "permission_policy": {"type": "always_ask"}}],
}


@pytest.mark.parametrize("agent", sorted(CUSTOM))
def test_the_documented_loop_never_gets_an_error(agent: str, tmp_path: Path) -> None:
    with daemon_of(tmp_path, **surroundings(agent, tmp_path)) as daemon, ChatServer() as model:
        session, raw = AcpSession(agent, daemon, model, tmp_path), Raw(daemon)
        raw.create(ASKING, WEATHER, agent=agent, model="fake-model", vault_ids=[raw.vault(session.environment())])
        stream = raw.stream(**FROM_START)
        for number, steps in enumerate(MESSAGES):
            made = [
                session.shell(step.removeprefix("$ ")) if step.startswith("$") else (CUSTOM[agent], {"city": step})
                for step in steps
            ]
            model.script.add(calls(*made, text="I look.", when=f"Go now {number}"), say(f"Done {number}."))
            raw.say(f"Go now {number}")
            first, *_ = loop(raw, stream)
            assert [step_of(use) for use in first] == steps, "one idle event has them all, in the message's order"
        events = raw.events()
        raw.close()
    assert f"Done {len(MESSAGES) - 1}." in texts(events)
    assert not failures(events)
    shown = [event["name"] for event in events if event["type"] in ("agent.tool_use", "agent.mcp_tool_use")]
    assert set(shown) == {"bash"}, "custom tools have no other event"


@pytest.mark.parametrize("toolset", [ASKING, TOOLSET], ids=["asking", "allowed"])
@pytest.mark.parametrize("agent", [*sorted(CUSTOM), "gemini"])
def test_calls_whose_input_is_empty_or_never_reported_are_answered(agent: str, toolset: Event, tmp_path: Path) -> None:
    with (
        daemon_of(tmp_path, **surroundings(agent, tmp_path)) as daemon,
        GeminiServer() if agent == "gemini" else ChatServer() as model,
    ):
        session, raw = AcpSession(agent, daemon, model, tmp_path), Raw(daemon)
        raw.create(toolset, WEATHER, agent=agent, model="fake-model", vault_ids=[raw.vault(session.environment())])
        stream = raw.stream(**FROM_START)
        weather = session.tool("everyagent", "get_weather")
        for number, inputs in enumerate([[{}], [{"city": "Oslo"}, {}]]):
            made = [(weather, given) for given in inputs]
            model.script.add(calls(*made, text="I look.", when=f"Go now {number}"), say(f"Done {number}."))
            raw.say(f"Go now {number}")
            asked = {str(use["id"]): use["input"] for idle in loop(raw, stream) for use in idle}
            assert sorted(map(str, asked.values())) == sorted(map(str, inputs))
        events = raw.events()
        raw.close()
    assert "Done 1." in texts(events)
    assert not failures(events)


def failures(events: list[Event]) -> list[Event]:
    of_tools = [event for event in events if event["type"] == "agent.tool_result" and event.get("is_error")]
    return [*of_tools, *(event for event in events if event["type"] == "session.error")]
