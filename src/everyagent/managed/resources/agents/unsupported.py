"""Warnings about settings of an agent that are stored but have no effect here."""

from collections.abc import Iterator
from typing import cast

from everyagent.managed.resources.agents.multiagent import Advisor, Coordinator, Multiagent, Multiagent20261001
from everyagent.managed.resources.agents.shape import AgentBody, AwsRole
from everyagent.managed.resources.agents.tools import AgentToolset, BuiltInConfig

_NARROWED = ("max_content_tokens", "url_sources", "user_location")
#: Enforced by the tool policies, which deny the tool where its domains cannot be applied.
_DOMAINS = ("allowed_domains", "blocked_domains")


def limits_of_agent(agent: AgentBody) -> list[str]:
    return [*(f"{what} is kept and not applied{why}" for what, why in _limits(agent)), *_denials(agent)]


def _denials(agent: AgentBody) -> Iterator[str]:
    for config in _built_in(agent):
        named = [f"`{name}`" for name in _DOMAINS if _given(config, name)]
        if config.name == "web_search" and config.enabled is not False and named:
            yield f"web_search is denied, because no agent can be held to its {', '.join(named)}"


def _built_in(agent: AgentBody) -> Iterator[BuiltInConfig]:
    for tool in agent.tools:
        if isinstance(tool, AgentToolset):
            yield from tool.configs


def _limits(agent: AgentBody) -> Iterator[tuple[str, str]]:
    for part in _unused(agent.multiagent):
        yield f"{part} of `multiagent`", ""
    for config in _built_in(agent):
        if narrowed := [name for name in _NARROWED if _given(config, name)]:
            yield f"{', '.join(f'`{name}`' for name in narrowed)} of {config.name}", ""
    if isinstance(agent.execution_identity, AwsRole):
        yield "`execution_identity`", ": sessions run as the daemon's user"
    if agent.model.inference_geo is not None:
        yield "`inference_geo`", ""
    if agent.model.speed == "fast":
        yield "the speed `fast`", ""
    if anthropics := [skill.skill_id for skill in agent.skills if skill.type == "anthropic"]:
        yield f"Anthropic's own skill {', '.join(anthropics)}", ": it cannot be had here"


def _given(config: BuiltInConfig, name: str) -> bool:
    return bool(cast("object", getattr(config, name)))


def _unused(multiagent: Multiagent | None) -> Iterator[str]:
    """The parts of a roster that have no effect."""
    match multiagent:
        case Coordinator(agents=members):
            if any(isinstance(each, Advisor) for each in members):
                yield "the advisor"
        case Multiagent20261001(advisor=advisor, subagents=subagents, workflows=workflows):
            if advisor and advisor.type == "enabled":
                yield "the advisor"
            if workflows and workflows.type == "enabled":
                yield "`workflows`"
            if subagents and subagents.inline_agents and subagents.inline_agents.type == "enabled":
                yield "`inline_agents`"
        case None:
            return
