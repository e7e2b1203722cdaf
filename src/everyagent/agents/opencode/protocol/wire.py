"""Types of OpenCode's events and answers, as far as we read them: decode only, optional fields have defaults.

The names are OpenCode's own; `docs/agents/opencode.md` lists the events that each event and part becomes.
"""

from typing import Any

from msgspec import Raw, Struct, field


class OpencodeWire(Struct, frozen=True, gc=False):
    """Ids are spelled `sessionID`: fields that hold one are renamed."""


# -- any event --------------------------------------------------------------------------------------------------


class EventHeadMetadata(OpencodeWire, frozen=True):
    session: str | None = field(default=None, name="sessionId")


class EventHeadState(OpencodeWire, frozen=True):
    metadata: EventHeadMetadata | None = None


class EventHeadPart(OpencodeWire, frozen=True):
    state: EventHeadState | None = None


class EventHeadInfo(OpencodeWire, frozen=True):
    """The ids of a session and its parent. A message has a parent, too: the message it answers."""

    id: str = ""
    parent: str | None = field(default=None, name="parentID")


class EventHeadProperties(OpencodeWire, frozen=True):
    session: str | None = field(default=None, name="sessionID")
    info: EventHeadInfo | None = None
    part: EventHeadPart | None = None


class EventHead(OpencodeWire, frozen=True):
    """The fields that give an event's type and session."""

    type: str
    properties: EventHeadProperties = EventHeadProperties()


class EventNameProperties(OpencodeWire, frozen=True):
    session: str | None = field(default=None, name="sessionID")


class EventName(OpencodeWire, frozen=True):
    """Type and session of an event of unknown shape."""

    type: str
    properties: EventNameProperties = EventNameProperties()


# -- messages ---------------------------------------------------------------------------------------------------


class OpencodeFailure(OpencodeWire, frozen=True):
    """A failure; the shape of `data` depends on `name`."""

    name: str = ""
    data: dict[str, Any] = {}


class MessageTime(OpencodeWire, frozen=True):
    created: float = 0
    completed: float | None = None


class FileDiff(OpencodeWire, frozen=True):
    file: str = ""
    patch: str = ""
    status: str = ""


class Summary(OpencodeWire, frozen=True):
    diffs: list[FileDiff] = []


class OpencodeMessage(OpencodeWire, frozen=True):
    """`summary` is what a user's message has changed or, with an assistant's, that it is a compaction's."""

    id: str
    session: str = field(default="", name="sessionID")
    role: str = "assistant"
    time: MessageTime = MessageTime()
    finish: str | None = None
    error: OpencodeFailure | None = None
    summary: Summary | bool | None = None
    agent: str = ""
    model: str = field(default="", name="modelID")
    provider: str = field(default="", name="providerID")


class MessageNotice(OpencodeWire, frozen=True):
    info: OpencodeMessage


# -- parts ------------------------------------------------------------------------------------------------------


class PartTime(OpencodeWire, frozen=True):
    """`compacted`: OpenCode has removed it from the model's context, long after it was sent."""

    start: float = 0
    end: float | None = None
    compacted: float | None = None


class Cache(OpencodeWire, frozen=True):
    read: int = 0
    write: int = 0


class OpencodeTokens(OpencodeWire, frozen=True):
    """`input` leaves out what came from the cache, `output` what was reasoning."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: Cache = Cache()


class Attached(OpencodeWire, frozen=True):
    mime: str = ""
    url: str = ""
    filename: str | None = None


class ToolState(OpencodeWire, frozen=True):
    status: str = "pending"
    input: Raw = Raw(b"{}")
    raw: str = ""
    output: str = ""
    error: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}
    time: PartTime | None = None
    attachments: list[Attached] = []


class OpencodePart(OpencodeWire, frozen=True):
    """Every part type's fields in one: a type uses those it has."""

    type: str
    id: str = ""
    message: str = field(default="", name="messageID")
    session: str = field(default="", name="sessionID")
    text: str = ""
    time: PartTime | None = None
    synthetic: bool = False
    ignored: bool = False
    tool: str = ""
    call: str = field(default="", name="callID")
    state: ToolState = ToolState()
    tokens: OpencodeTokens | None = None
    cost: float = 0
    files: list[str] = []
    mime: str = ""
    filename: str | None = None
    url: str = ""
    auto: bool = False
    prompt: str = ""
    description: str = ""
    agent: str = ""
    name: str = ""
    attempt: int = 0
    error: OpencodeFailure | None = None


class PartNotice(OpencodeWire, frozen=True):
    part: OpencodePart


class OpencodeDelta(OpencodeWire, frozen=True):
    message: str = field(name="messageID")
    part: str = field(name="partID")
    delta: str
    field_: str = field(default="text", name="field")


class Delivered(OpencodeWire, frozen=True):
    """A message with its parts, as `GET /session/{id}/message` returns it."""

    info: OpencodeMessage
    parts: list[OpencodePart] = []


# -- sessions ---------------------------------------------------------------------------------------------------


class ModelRef(OpencodeWire, frozen=True):
    id: str = ""
    provider: str = field(default="", name="providerID")


class OpencodeSessionInfo(OpencodeWire, frozen=True):
    id: str
    parent: str | None = field(default=None, name="parentID")
    title: str = ""
    model: ModelRef | None = None


class SessionNotice(OpencodeWire, frozen=True):
    info: OpencodeSessionInfo


class SessionStatus(OpencodeWire, frozen=True):
    type: str = "idle"
    attempt: int = 0
    message: str = ""
    next: float = 0


class StatusNotice(OpencodeWire, frozen=True):
    status: SessionStatus


class OpencodeErrorNotice(OpencodeWire, frozen=True):
    error: OpencodeFailure | None = None


class EmptyNotice(OpencodeWire, frozen=True):
    """An event without fields that we read."""


class TodoEntry(OpencodeWire, frozen=True):
    content: str = ""
    status: str = ""


class TodoNotice(OpencodeWire, frozen=True):
    todos: list[TodoEntry] = []


class FileNotice(OpencodeWire, frozen=True):
    file: str


class McpNotice(OpencodeWire, frozen=True):
    mcp: str = field(default="", name="mcpName")
    url: str = ""


class McpState(OpencodeWire, frozen=True):
    status: str = ""
    error: str | None = None


# -- asks -------------------------------------------------------------------------------------------------------


class ToolRef(OpencodeWire, frozen=True):
    message: str = field(default="", name="messageID")
    call: str = field(default="", name="callID")


class PermissionAsked(OpencodeWire, frozen=True):
    id: str
    session: str = field(default="", name="sessionID")
    permission: str = ""
    patterns: list[str] = []
    metadata: dict[str, Any] = {}
    always: list[str] = []
    tool: ToolRef | None = None


class OpencodeOption(OpencodeWire, frozen=True):
    label: str = ""
    description: str | None = None


class QuestionInfo(OpencodeWire, frozen=True):
    question: str = ""
    header: str | None = None
    options: list[OpencodeOption] = []
    multiple: bool = False


class QuestionAsked(OpencodeWire, frozen=True):
    id: str
    session: str = field(default="", name="sessionID")
    questions: list[QuestionInfo] = []
    tool: ToolRef | None = None


class AskSettled(OpencodeWire, frozen=True):
    request: str = field(name="requestID")
    reply: str = "reject"
    answers: list[list[str]] | None = None


# -- what can be chosen -----------------------------------------------------------------------------------------


class ModelCost(OpencodeWire, frozen=True):
    """0 also if unknown."""

    input: float = 0
    output: float = 0


class OpencodeModel(OpencodeWire, frozen=True):
    id: str
    cost: ModelCost = ModelCost()
    name: str | None = None
    variants: dict[str, Any] = {}


class Provider(OpencodeWire, frozen=True):
    id: str
    models: dict[str, OpencodeModel] = {}


class Providers(OpencodeWire, frozen=True):
    providers: list[Provider] = []


class OpencodeAgent(OpencodeWire, frozen=True):
    name: str
    mode: str = "primary"
    description: str | None = None
    hidden: bool | None = None


class OpencodeConfig(OpencodeWire, frozen=True):
    model: str | None = None
