"""The documented responses of sandbox-agent 0.1.11, as types that refuse anything else.

Fields that it does not have are ignored, as its clients do.
"""

from typing import Literal

from msgspec import Struct


class Health(Struct):
    status: Literal["ok"]


class Capabilities(Struct, rename="camel"):
    plan_mode: bool
    permissions: bool
    questions: bool
    tool_calls: bool
    tool_results: bool
    text_messages: bool
    images: bool
    file_attachments: bool
    session_lifecycle: bool
    error_events: bool
    reasoning: bool
    status: bool
    command_execution: bool
    file_changes: bool
    mcp_tools: bool
    streaming_deltas: bool
    item_started: bool
    shared_process: bool


class Agent(Struct, rename="camel"):
    id: str
    installed: bool
    credentials_available: bool
    capabilities: Capabilities
    version: str | None = None
    path: str | None = None


class Agents(Struct):
    agents: list[Agent]


class Mode(Struct):
    id: str
    name: str
    description: str


class Modes(Struct):
    modes: list[Mode]


class Model(Struct, rename="camel"):
    id: str
    name: str | None = None
    variants: list[str] | None = None
    default_variant: str | None = None


class Models(Struct, rename="camel"):
    models: list[Model]
    default_model: str | None = None


class Created(Struct, rename="camel"):
    healthy: bool
    native_session_id: str | None = None


class ShownLocal(Struct, rename="camel", tag="local"):
    command: str | list[str]
    args: list[str] = []
    env: dict[str, str] | None = None
    cwd: str | None = None
    enabled: bool | None = None


class ShownRemote(Struct, rename="camel", tag="remote"):
    url: str
    headers: dict[str, str] | None = None
    transport: Literal["http", "sse"] | None = None
    enabled: bool | None = None


class Session(Struct, rename="camel"):
    session_id: str
    agent: str
    agent_mode: str
    permission_mode: str
    ended: bool
    event_count: int
    created_at: int
    updated_at: int
    model: str | None = None
    variant: str | None = None
    native_session_id: str | None = None
    directory: str | None = None
    title: str | None = None
    mcp: dict[str, ShownLocal | ShownRemote] | None = None


class Sessions(Struct):
    sessions: list[Session]


class SessionStarted(Struct):
    metadata: object = None


class SessionEnded(Struct):
    reason: Literal["completed", "error", "terminated"]
    terminated_by: Literal["agent", "daemon"]
    message: str | None = None
    exit_code: int | None = None


class TurnStarted(Struct):
    phase: Literal["started"]
    turn_id: str | None = None


class TurnEnded(Struct):
    phase: Literal["ended"]
    turn_id: str | None = None


class Part(Struct):
    type: Literal["text", "json", "tool_call", "tool_result", "file_ref", "reasoning", "image", "status"]


class ItemFields(Struct):
    item_id: str
    kind: Literal["message", "tool_call", "tool_result", "system", "status", "unknown"]
    status: Literal["in_progress", "completed", "failed"]
    content: list[Part]
    role: Literal["user", "assistant", "system", "tool"] | None = None
    native_item_id: str | None = None
    parent_id: str | None = None


class ItemEvent(Struct):
    item: ItemFields


class Delta(Struct):
    item_id: str
    delta: str
    native_item_id: str | None = None


class PermissionEvent(Struct):
    """`status` has the words of the schema that sandbox-agent documents; its program has those of `decision`."""

    permission_id: str
    action: str
    status: Literal["requested", "approved", "denied"]
    metadata: object = None
    decision: Literal["accept", "accept_for_session", "reject"] | None = None


class QuestionEvent(Struct):
    question_id: str
    prompt: str
    options: list[str]
    status: Literal["requested", "answered", "rejected"]
    response: str | None = None


class ErrorEvent(Struct):
    message: str
    code: str | None = None
    details: object = None


class Unparsed(Struct):
    error: str
    location: str
    raw_hash: str | None = None


DATA: dict[str, type[Struct]] = {
    "session.started": SessionStarted,
    "session.ended": SessionEnded,
    "turn.started": TurnStarted,
    "turn.ended": TurnEnded,
    "item.started": ItemEvent,
    "item.completed": ItemEvent,
    "item.delta": Delta,
    "permission.requested": PermissionEvent,
    "permission.resolved": PermissionEvent,
    "question.requested": QuestionEvent,
    "question.resolved": QuestionEvent,
    "error": ErrorEvent,
    "agent.unparsed": Unparsed,
}


class Event(Struct):
    event_id: str
    sequence: int
    time: str
    session_id: str
    synthetic: bool
    source: Literal["agent", "daemon"]
    type: str
    data: object
    native_session_id: str | None = None
    raw: object = None


class Events(Struct, rename="camel"):
    events: list[Event]
    has_more: bool


class Entry(Struct, rename="camel"):
    path: str
    entry_type: Literal["file", "directory"]
    size: int
    modified: str | None = None


class NamedEntry(Entry, rename="camel"):
    name: str = ""


class Written(Struct, rename="camel"):
    path: str
    bytes_written: int


class Acted(Struct):
    path: str


class Moved(Struct, rename={"origin": "from"}):
    origin: str
    to: str


class Uploaded(Struct):
    paths: list[str]
    truncated: bool


class Problem(Struct):
    type: str
    title: str
    status: int
    detail: str | None = None
