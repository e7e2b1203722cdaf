"""Profiles of agents of the user's own, from their settings."""

from everyagent.agents.acp.profile import Profile
from everyagent.model.agents import OwnAgent


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
    )
