"""Other agents that an agent may work with: requested by name, stored with versions, shown in full in a session."""

from collections.abc import Awaitable, Callable
from typing import Annotated, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from everyagent.errors import BadRequest
from everyagent.model.parts import Json


class AgentReference(Struct, frozen=True, kw_only=True, tag="agent"):
    """Without a `version`, the newest one."""

    id: str
    version: int | None = None


class Itself(Struct, frozen=True, kw_only=True, tag="self"):
    """A copy of the agent itself."""


class Advisor(Struct, frozen=True, kw_only=True, tag="advisor"):
    model: str


class Switch(Struct, frozen=True, kw_only=True):
    type: Literal["enabled", "disabled"]


class AdvisorSwitch(Struct, frozen=True, kw_only=True, omit_defaults=True):
    type: Literal["enabled", "disabled"]
    model: str | None = None


Predefined: TypeAlias = str | AgentReference | Itself
Member: TypeAlias = str | AgentReference | Itself | Advisor


class Crew(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Sub-agents, or agents of workflows."""

    type: Literal["enabled", "disabled"]
    inline_agents: Switch | None = None
    predefined_agents: Annotated[list[Predefined], Meta(max_length=20)] | None = None


class Coordinator(Struct, frozen=True, kw_only=True, tag="coordinator"):
    agents: Annotated[list[Member], Meta(min_length=1, max_length=20)]


class Multiagent20261001(Struct, frozen=True, kw_only=True, tag="multiagent_20261001"):
    advisor: AdvisorSwitch | None = None
    subagents: Crew | None = None
    workflows: Crew | None = None


Multiagent: TypeAlias = Coordinator | Multiagent20261001
#: Resolves a reference to an exact version; raises if there is none.
Pin = Callable[[AgentReference], Awaitable[AgentReference]]
T = TypeVar("T", AgentReference, AgentReference | Advisor)
#: Renders an agent as a session shows it.
Show = Callable[[AgentReference], Awaitable[Json]]

_OFF = Crew(type="disabled")
_ON = Crew(type="enabled")


async def pinned(multiagent: Multiagent, own: AgentReference, pin: Pin) -> Multiagent:
    """Fills in defaults and fixes all versions; `own` is the agent's reference to itself."""

    async def fixed(member: Predefined) -> AgentReference:
        match member:
            case Itself():
                return own
            case str():
                return await pin(AgentReference(id=member))
            case AgentReference():
                return own if member.id == own.id else await pin(member)

    async def crew(given: Crew | None) -> Crew:
        given = given or _ON
        if given.type == "disabled":
            return _OFF
        return Crew(
            type="enabled",
            inline_agents=given.inline_agents or Switch(type="enabled"),
            predefined_agents=[*_distinct([await fixed(member) for member in given.predefined_agents or ()])],
        )

    match multiagent:
        case Coordinator():
            members = [each if isinstance(each, Advisor) else await fixed(each) for each in multiagent.agents]
            return Coordinator(agents=[*_distinct(members)])
        case Multiagent20261001():
            return Multiagent20261001(
                advisor=multiagent.advisor or AdvisorSwitch(type="disabled"),
                subagents=await crew(multiagent.subagents),
                workflows=await crew(multiagent.workflows),
            )


def _distinct(members: list[T]) -> list[T]:
    names = [each.id if isinstance(each, AgentReference) else "an advisor" for each in members]
    for name in names:
        if names.count(name) > 1:
            raise BadRequest(f"`multiagent` names {name} twice.", field="multiagent")
    return members


async def expanded(multiagent: Multiagent, show: Show) -> Json:
    """The form that a session shows: each agent in full."""

    async def shown(members: "list[Predefined] | list[Member]") -> list[object]:
        return [await show(each) if isinstance(each, AgentReference) else msgspec.to_builtins(each) for each in members]

    async def crew(given: Crew | None) -> Json:
        given = given or _OFF
        settings: dict[str, object] = msgspec.to_builtins(replace(given, predefined_agents=None))
        return (
            settings
            if given.type == "disabled"
            else settings | {"predefined_agents": await shown(given.predefined_agents or [])}
        )

    match multiagent:
        case Coordinator():
            return {"type": "coordinator", "agents": await shown(multiagent.agents)}
        case Multiagent20261001():
            return {
                "type": "multiagent_20261001",
                "advisor": msgspec.to_builtins(multiagent.advisor),
                "subagents": await crew(multiagent.subagents),
                "workflows": await crew(multiagent.workflows),
            }
