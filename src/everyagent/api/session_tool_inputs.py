"""Inputs of the MCP tools that drive sessions, and the tools' definitions made from them."""

from functools import cache
from typing import Annotated, Literal, cast

import msgspec
from msgspec import Meta, Struct

from everyagent.model.asks import PermissionReply
from everyagent.model.events import SessionStatus
from everyagent.model.parts import Json
from everyagent.model.tools import CustomTool

MAX_WAIT = 300
MAX_ITEMS = 200

SessionId = Annotated[str, Meta(description="The session's id.")]
Wait = Annotated[int, Meta(ge=0, le=MAX_WAIT, description="Seconds to wait for the end of the turn.")]


class ToolInput(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The docstring of a subclass is the description of its tool."""


class ListAgents(ToolInput, frozen=True, kw_only=True):
    """List the coding agents: ids, and whether they are installed and logged in."""


class StartSession(ToolInput, frozen=True, kw_only=True):
    """Start a session with a coding agent and give it a task. Returns the session's id, and the result if the turn ends
    in time. The agent may ask for permission; then answer with `answer_ask`."""

    agent: Annotated[str, Meta(description="One of the agents that `list_agents` returns.")]
    message: Annotated[str, Meta(min_length=1, description="The task.")]
    directory: Annotated[str | None, Meta(description="The absolute path of the folder that it works in.")] = None
    model: str | None = None
    permission_mode: Annotated[
        Literal["default", "plan", "acceptEdits", "bypass"] | None,
        Meta(description="`default` asks for what matters, `plan` changes nothing, `bypass` asks nothing."),
    ] = None
    title: str | None = None
    budget_usd: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        Meta(description="The most that the session may spend, below the daemon's own limit."),
    ] = None
    wait_seconds: Wait = 60


class SendToSession(ToolInput, frozen=True, kw_only=True):
    """Send a session another message. While a turn runs, it waits in a queue."""

    session_id: SessionId
    message: Annotated[str, Meta(min_length=1)]
    wait_seconds: Wait = 60


class WaitForSession(ToolInput, frozen=True, kw_only=True):
    """Wait until a session's turn has ended or it needs an answer. Returns its state, its result and its open asks."""

    session_id: SessionId
    wait_seconds: Wait = 60


class ReadSession(ToolInput, frozen=True, kw_only=True):
    """Read a session's conversation: messages, tool calls and their results, oldest first."""

    session_id: SessionId
    after: Annotated[int, Meta(ge=0, description="The `last` of the page before.")] = 0
    limit: Annotated[int, Meta(ge=1, le=MAX_ITEMS)] = 50


class AnswerAsk(ToolInput, frozen=True, kw_only=True):
    """Answer what a session's agent asks: a permission with `reply`, questions with `answers`."""

    session_id: SessionId
    ask_id: Annotated[str, Meta(description="The id of the ask, from the session's state.")]
    reply: PermissionReply | None = None
    answers: Annotated[
        list[list[str]] | None, Meta(description="The chosen labels or own words for each question; null rejects them.")
    ] = None
    message: Annotated[str | None, Meta(description="The reason of a rejection.")] = None
    wait_seconds: Wait = 60


class CancelTurn(ToolInput, frozen=True, kw_only=True):
    """Stop a session's running turn. The session stays, and takes further messages."""

    session_id: SessionId


class EndSession(ToolInput, frozen=True, kw_only=True):
    """End a session and its agent. Its conversation can still be read."""

    session_id: SessionId


class ListSessions(ToolInput, frozen=True, kw_only=True):
    """List sessions, newest first."""

    status: SessionStatus | None = None
    agent: str | None = None
    limit: Annotated[int, Meta(ge=1, le=100)] = 20


INPUTS: dict[str, type[ToolInput]] = {
    "list_agents": ListAgents,
    "start_session": StartSession,
    "send_message": SendToSession,
    "wait_for_session": WaitForSession,
    "read_session": ReadSession,
    "answer_ask": AnswerAsk,
    "cancel_turn": CancelTurn,
    "end_session": EndSession,
    "list_sessions": ListSessions,
}


#: Inputs of tools that only the node that owns the session can run.
COMMANDS = (SendToSession, AnswerAsk, CancelTurn, EndSession)


@cache
def definitions() -> tuple[CustomTool, ...]:
    """The tools with JSON Schemas of their inputs."""
    _, schemas = msgspec.json.schema_components(INPUTS.values())
    return tuple(
        CustomTool(name=name, description=" ".join((shape.__doc__ or "").split()), input_schema=_schema(schemas, shape))
        for name, shape in INPUTS.items()
    )


def _schema(schemas: dict[str, dict[str, object]], shape: type[ToolInput]) -> dict[str, Json]:
    schema = cast(dict[str, Json], schemas[shape.__name__])
    return {name: value for name, value in schema.items() if name not in ("title", "description")}
