"""Agents: create, retrieve, update with versions, list, archive."""

from datetime import timedelta

import anthropic
from loose import Loose
from refused import refused

TOOLSET = {
    "type": "agent_toolset_20260401",
    "default_config": {"permission_policy": {"type": "always_ask"}},
    "configs": [{"name": "bash", "enabled": False}, {"name": "read", "permission_policy": {"type": "always_allow"}}],
}
CUSTOM = {
    "type": "custom",
    "name": "weather",
    "description": "How the weather is.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
SERVER = {"type": "url", "name": "docs", "url": "https://example.com/mcp"}


def flow(client: Loose) -> None:
    agents = client.beta.agents
    agent = agents.create(
        name="Reviewer",
        model="claude-opus-4-8",
        system="Be brief.",
        description="Reviews.",
        metadata={"team": "a", "everyagent.agent": "mock"},
        mcp_servers=[SERVER],
        tools=[TOOLSET, {"type": "mcp_toolset", "mcp_server_name": "docs"}, CUSTOM],
    )
    assert (agent.version, agent.type, agent.name, agent.archived_at) == (1, "agent", "Reviewer", None)
    own, server, custom = agent.tools
    assert own.type == "agent_toolset_20260401"
    assert server.type == "mcp_toolset"
    assert custom.type == "custom"
    assert own.default_config.permission_policy.type == "always_ask"
    assert [(config.name, config.enabled, config.permission_policy.type) for config in own.configs] == [
        ("bash", False, "always_ask"),
        ("read", True, "always_allow"),
    ]
    assert server.default_config.permission_policy.type == "always_ask"
    assert custom.input_schema.required == ["city"]

    changed = agents.update(agent.id, version=1, system=None, tools=[CUSTOM], mcp_servers=[], metadata={"team": None})
    assert (changed.version, changed.system, len(changed.tools), changed.description) == (2, None, 1, "Reviews.")
    assert changed.metadata == {"everyagent.agent": "mock"}
    assert agents.update(agent.id, version=2, name="Reviewer").version == 2, "nothing differs, no new version"
    error = refused(anthropic.ConflictError, lambda: agents.update(agent.id, version=1, name="Late"))
    assert error.response.headers["x-should-retry"] == "false"
    assert error.response.request.headers.get("x-stainless-retry-count") == "0"
    assert agents.retrieve(agent.id).version == 2
    assert agents.retrieve(agent.id, version=1).system == "Be brief."
    assert [each.version for each in agents.versions.list(agent.id, limit=1)] == [2, 1]

    made = [agents.create(name=f"Agent {n}", model={"id": "gpt-5.5", "speed": "fast"}).id for n in range(5)]
    assert [each.id for each in agents.list(limit=2)][:6] == [*reversed(made), agent.id]
    since = agents.retrieve(made[2]).created_at
    assert made[1] not in [each.id for each in agents.list(created_at_gte=since)]
    until = agent.created_at - timedelta(milliseconds=1)
    assert agent.id not in [each.id for each in agents.list(created_at_lte=until)]
    assert agents.retrieve(made[0]).model.speed == "fast"

    archived = agents.archive(agent.id)
    assert archived.archived_at is not None
    assert archived.version == 2
    assert agent.id not in [each.id for each in agents.list()]
    assert agent.id in [each.id for each in agents.list(include_archived=True)]
    refused(anthropic.BadRequestError, lambda: agents.update(agent.id, version=2, name="Too late"))
    refuse_invalid_agents(client)


def refuse_invalid_agents(client: Loose) -> None:
    agents = client.beta.agents
    refused(anthropic.NotFoundError, lambda: agents.retrieve("agent_nobody"))
    refused(anthropic.NotFoundError, lambda: agents.retrieve("agent_nobody", version=3))
    wrong = refused(anthropic.BadRequestError, lambda: agents.create(name="", model="m"))
    assert wrong.request_id
    assert wrong.request_id.startswith("req_")
    assert wrong.body["error"]["type"] == "invalid_request_error"
    assert wrong.body["request_id"] == wrong.request_id
    refused(anthropic.BadRequestError, lambda: agents.create(name="x" * 257, model="m"))
    refused(anthropic.BadRequestError, lambda: agents.create(name="x", model="m", system="x" * 100_001))
    refused(anthropic.BadRequestError, lambda: agents.create(name="x", model="m", tools=[TOOLSET, TOOLSET]))
    refused(anthropic.BadRequestError, lambda: agents.create(name="x", model="m", mcp_servers=[SERVER]))
    too_many = {f"key {n}": "" for n in range(17)}
    refused(anthropic.BadRequestError, lambda: agents.create(name="x", model="m", metadata=too_many))
    refused(anthropic.BadRequestError, lambda: agents.list(page="page_nonsense"))
    stranger = anthropic.Anthropic(base_url=str(client.base_url), api_key="wrong")
    refused(anthropic.AuthenticationError, lambda: stranger.beta.agents.list())
    newer = agents.with_raw_response.create(name="From tomorrow", model="m", extra_body={"colour": {"red": 1}})
    assert "colour" in newer.headers["x-everyagent-warning"]
    assert newer.parse().name == "From tomorrow"
