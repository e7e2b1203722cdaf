"""The members of a coordinator's roster, and the tool with which it calls them."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Final, NamedTuple, cast

import msgspec
from msgspec import Meta, Struct

from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.model.parts import Json, Object
from everyagent.model.tools import CustomTool

TOOL: Final = "call_agents"
#: Threads of one session that may be at work at the same time.
MAX_AT_WORK: Final = 25


class Member(NamedTuple):
    """`name` is unique in its roster."""

    name: str
    agent: SessionAgent


class Task(Struct, frozen=True, kw_only=True):
    """A message for a new thread of `agent`, or for the thread `thread_id`."""

    message: Annotated[str, Meta(min_length=1)]
    agent: str | None = None
    thread_id: str | None = None


class CallAgents(Struct, frozen=True, kw_only=True):
    """The input of the tool."""

    tasks: Annotated[list[Task], Meta(min_length=1, max_length=MAX_AT_WORK)]


def members_of(agent: Object) -> list[Member]:
    """The roster of a session's agent, as its document has it."""
    members: list[Member] = []
    for each in _listed(agent.get("multiagent")):
        found = msgspec.convert({**each, "multiagent": None}, SessionAgent)
        taken = sum(found.name == member.agent.name for member in members)
        members.append(Member(f"{found.name} {taken + 1}" if taken else found.name, found))
    return members


def _listed(multiagent: object) -> Iterator[Object]:
    roster = cast("Object", multiagent or {})
    subagents = cast("Object", roster.get("subagents") or {})
    listed = cast("list[Object]", roster.get("agents") or subagents.get("predefined_agents") or [])
    return (each for each in listed if each.get("type") == "agent")


def roster_tool(members: Sequence[Member]) -> CustomTool:
    listed = "\n".join(_described(member) for member in members)
    task: Json = {
        "type": "object",
        "properties": {
            "agent": {"type": "string", "enum": [member.name for member in members], "description": "Begins a thread."},
            "thread_id": {"type": "string", "description": "Continues a thread that an earlier call began."},
            "message": {
                "type": "string",
                "description": "Everything that the agent must know: it does not see this conversation.",
            },
        },
        "required": ["message"],
    }
    return CustomTool(
        name=TOOL,
        description="Give tasks to other agents, and wait for their replies. They work at the same time, in your "
        "folder. Each task has either an `agent`, which begins a new thread, or a `thread_id`, with which an agent "
        f"goes on where it was.\n\nAgents:\n{listed}",
        input_schema={
            "type": "object",
            "properties": {"tasks": {"type": "array", "minItems": 1, "maxItems": MAX_AT_WORK, "items": task}},
            "required": ["tasks"],
        },
    )


def roster_note(members: Sequence[Member]) -> str:
    """For the system prompt of the coordinator."""
    listed = "\n".join(_described(member) for member in members)
    return f"You coordinate other agents. Give them tasks with the tool `{TOOL}`:\n{listed}"


def _described(member: Member) -> str:
    return f"- {member.name}: {member.agent.description}" if member.agent.description else f"- {member.name}"
