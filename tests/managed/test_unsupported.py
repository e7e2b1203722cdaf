"""Settings of agents without effect are reported; and the rules of multiagents."""

from collections.abc import AsyncGenerator, Generator
from pathlib import Path
from typing import cast

import pytest

from everyagent.errors import BadRequest, NotFound
from everyagent.managed import Managed
from everyagent.managed.resources.agents.multiagent import (
    Advisor,
    AgentReference,
    Coordinator,
    Crew,
    Itself,
    Multiagent,
    Multiagent20261001,
    Switch,
)
from everyagent.managed.resources.agents.shape import Agent, AgentCreate
from everyagent.testing.daemon import DaemonProcess
from tests.managed import services
from tests.managed.raw import Event, Raw

AGENT = {"name": "A", "model": "mock-small"}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"multiagent": {"type": "coordinator", "agents": [{"type": "self"}, {"type": "advisor", "model": "m"}]}},
            "the advisor of `multiagent`",
        ),
        ({"multiagent": {"type": "multiagent_20261001"}}, "`workflows` of `multiagent`"),
        (
            {
                "tools": [
                    {
                        "type": "agent_toolset_20260401",
                        "configs": [{"name": "web_search", "max_content_tokens": 1000}],
                    }
                ]
            },
            "`max_content_tokens` of web_search",
        ),
        ({"execution_identity": {"type": "aws_role", "role_arn": "arn:aws:iam::1:role/a"}}, "`execution_identity`"),
        ({"model": {"id": "mock-small", "speed": "fast", "inference_geo": "eu"}}, "`inference_geo`"),
        ({"skills": [{"type": "anthropic", "skill_id": "pptx"}]}, "pptx"),
    ],
)
def test_settings_without_effect_are_reported_as_warnings(raw: Raw, given: dict[str, object], told: str) -> None:
    assert f"{told} is kept and not applied" in raw.warnings("/agents", {**AGENT, **given})
    agent_id = raw.call("POST", "/agents", AGENT)["id"]
    assert f"{told} is kept and not applied" in raw.warnings(f"/agents/{agent_id}", given)


@pytest.mark.parametrize("domains", ["allowed_domains", "blocked_domains"])
def test_a_web_search_with_domains_is_denied_and_named(raw: Raw, domains: str) -> None:
    config: Event = {"name": "web_search", domains: ["example.com"]}
    tools = [{"type": "agent_toolset_20260401", "configs": [config]}]
    assert f"web_search is denied, because no agent can be held to its `{domains}`" in raw.warnings(
        "/agents", {**AGENT, "tools": tools}
    )
    raw.create(*tools)
    policies = cast("Event", raw.universal_call("GET", raw.path)["toolPolicies"])
    assert cast("Event", policies["tools"])["web_search"] == "deny"
    config["enabled"] = False
    assert "x-everyagent-warning" not in raw.answer("POST", "/agents", {**AGENT, "tools": tools}).headers


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Managed]:
    async with services.managed(tmp_path) as managed:
        yield managed


async def made(on: Managed, multiagent: Multiagent | None = None) -> Agent:
    return await on.agents.create(AgentCreate(name="a", model="mock-small", multiagent=multiagent))


async def test_the_agents_of_a_multiagent_are_stored_with_versions(on: Managed) -> None:
    other = await made(on)
    crew = await made(on, Coordinator(agents=[other.id, Itself(), Advisor(model="m")]))
    fixed = [AgentReference(id=other.id, version=1), AgentReference(id=crew.id, version=1), Advisor(model="m")]
    assert crew.multiagent == Coordinator(agents=[*fixed])
    assert await on.agents.retrieve(crew.id) == crew


async def test_a_multiagent_refuses_missing_archived_duplicate_and_nested_agents(on: Managed) -> None:
    other, archived = await made(on), await made(on)
    await on.agents.archive(archived.id)
    crew = await made(on, Coordinator(agents=[other.id]))
    with pytest.raises(NotFound):
        await made(on, Coordinator(agents=["agent_no"]))
    for agents in ([archived.id], [crew.id], [other.id, AgentReference(id=other.id)], [Itself(), Itself()]):
        with pytest.raises(BadRequest):
            await made(on, Coordinator(agents=[*agents]))


async def test_sub_agents_and_workflows_are_on_unless_they_are_switched_off(on: Managed) -> None:
    everything = Crew(type="enabled", inline_agents=Switch(type="enabled"), predefined_agents=[])
    crew = await made(on, Multiagent20261001(workflows=Crew(type="disabled")))
    assert isinstance(crew.multiagent, Multiagent20261001)
    assert crew.multiagent.subagents == everything
    assert crew.multiagent.workflows == Crew(type="disabled")
