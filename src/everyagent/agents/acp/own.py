"""Profiles of agents of the user's own, from their settings."""

from collections.abc import Sequence

from everyagent.agents.acp.profile import UNASKED, Profile
from everyagent.model.agents import OwnAgent
from everyagent.model.policies import TOOLS, AgentTool


def profile_of(name: str, agent: OwnAgent) -> Profile:
    return Profile(
        name=name,
        title=agent.title or name,
        own_command=tuple(agent.command),
        passed=tuple(agent.pass_env),
        variables=agent.env,
        modes=agent.modes,
        asking=agent.modes.get("default"),
        auth_method=agent.auth_method,
        client_methods=agent.client_methods,
        tools=_tools(agent.asks_for),
    )


def _tools(asked: Sequence[str]) -> tuple[AgentTool, ...]:
    """Without a tool for which it asks, an agent has no tool policies."""
    if not asked:
        return ()
    unasked = [name for name in TOOLS if name not in asked]
    return (
        *(AgentTool(name=name, kinds=[name]) for name in asked),
        *(AgentTool(name=name, kinds=[name], verdicts=UNASKED) for name in unasked),
    )
