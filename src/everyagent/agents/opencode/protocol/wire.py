"""What OpenCode's server says, as far as we read it: decode only, every field that may be missing has a default.

The names are OpenCode's own; `docs/agents/opencode.md` says what becomes of each event and part.
"""

from typing import Any

from msgspec import Raw, Struct, field


class Wire(Struct, frozen=True, gc=False):
    """Ids are spelled `sessionID`: fields that hold one are renamed."""


# -- any event --------------------------------------------------------------------------------------------------


class HeadMetadata(Wire, frozen=True):
    session: str | None = field(default=None, name="sessionId")


class HeadState(Wire, frozen=True):
    metadata: HeadMetadata | None = None


class HeadPart(Wire, frozen=True):
    state: HeadState | None = None


class HeadInfo(Wire, frozen=True):
    """Of a session: its own id and its parent's. A message has a parent, too: the message it answers."""

    id: str = ""
    parent: str | None = field(default=None, name="parentID")


class HeadProperties(Wire, frozen=True):
    session: str | None = field(default=None, name="sessionID")
    info: HeadInfo | None = None
    part: HeadPart | None = None


class Head(Wire, frozen=True):
    """Enough to know what kind of event it is and whose."""

    type: str
    properties: HeadProperties = HeadProperties()


class NameProperties(Wire, frozen=True):
    session: str | None = field(default=None, name="sessionID")


class Name(Wire, frozen=True):
    """The same of an event that is put together in another way than we know."""

    type: str
    properties: NameProperties = NameProperties()


# -- messages ---------------------------------------------------------------------------------------------------


class Failure(Wire, frozen=True):
    """What went wrong; `data` differs from name to name."""

    name: str = ""
    data: dict[str, Any] = {}


class MessageTime(Wire, frozen=True):
    created: float = 0
    completed: float | None = None


class FileDiff(Wire, frozen=True):
    file: str = ""
    patch: str = ""
    status: str = ""


class Summary(Wire, frozen=True):
    diffs: list[FileDiff] = []


class Message(Wire, frozen=True):
    """`summary` is what a user's message has changed or, with an assistant's, that it is a compaction's."""

    id: str
    session: str = field(default="", name="sessionID")
    role: str = "assistant"
    time: MessageTime = MessageTime()
    finish: str | None = None
    error: Failure | None = None
    summary: Summary | bool | None = None
    agent: str = ""
    model: str = field(default="", name="modelID")
    provider: str = field(default="", name="providerID")


class MessageNotice(Wire, frozen=True):
    info: Message


# -- parts ------------------------------------------------------------------------------------------------------


class PartTime(Wire, frozen=True):
    """`compacted`: OpenCode has dropped it from what the model sees, long after it was told."""

    start: float = 0
    end: float | None = None
    compacted: float | None = None


class Cache(Wire, frozen=True):
    read: int = 0
    write: int = 0


class Tokens(Wire, frozen=True):
    """`input` leaves out what came from the cache, `output` what was reasoning."""

    input: int = 0
    output: int = 0
    reasoning: int = 0
    cache: Cache = Cache()


class Attached(Wire, frozen=True):
    mime: str = ""
    url: str = ""
    filename: str | None = None


class ToolState(Wire, frozen=True):
    status: str = "pending"
    input: Raw = Raw(b"{}")
    raw: str = ""
    output: str = ""
    error: str = ""
    title: str = ""
    metadata: dict[str, Any] = {}
    time: PartTime | None = None
    attachments: list[Attached] = []


class Part(Wire, frozen=True):
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
    tokens: Tokens | None = None
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
    error: Failure | None = None


class PartNotice(Wire, frozen=True):
    part: Part


class Delta(Wire, frozen=True):
    message: str = field(name="messageID")
    part: str = field(name="partID")
    delta: str
    field_: str = field(default="text", name="field")


class Delivered(Wire, frozen=True):
    """A message with its parts, as `GET /session/{id}/message` tells it."""

    info: Message
    parts: list[Part] = []


# -- sessions ---------------------------------------------------------------------------------------------------


class ModelRef(Wire, frozen=True):
    id: str = ""
    provider: str = field(default="", name="providerID")


class Session(Wire, frozen=True):
    id: str
    parent: str | None = field(default=None, name="parentID")
    title: str = ""
    model: ModelRef | None = None


class SessionNotice(Wire, frozen=True):
    info: Session


class Status(Wire, frozen=True):
    type: str = "idle"
    attempt: int = 0
    message: str = ""
    next: float = 0


class StatusNotice(Wire, frozen=True):
    status: Status


class ErrorNotice(Wire, frozen=True):
    error: Failure | None = None


class Nothing(Wire, frozen=True):
    """Its coming is all it tells."""


class Todo(Wire, frozen=True):
    content: str = ""
    status: str = ""


class TodoNotice(Wire, frozen=True):
    todos: list[Todo] = []


class FileNotice(Wire, frozen=True):
    file: str


class McpNotice(Wire, frozen=True):
    mcp: str = field(default="", name="mcpName")
    url: str = ""


class McpState(Wire, frozen=True):
    status: str = ""
    error: str | None = None


# -- asks -------------------------------------------------------------------------------------------------------


class ToolRef(Wire, frozen=True):
    message: str = field(default="", name="messageID")
    call: str = field(default="", name="callID")


class PermissionAsked(Wire, frozen=True):
    id: str
    session: str = field(default="", name="sessionID")
    permission: str = ""
    patterns: list[str] = []
    metadata: dict[str, Any] = {}
    always: list[str] = []
    tool: ToolRef | None = None


class Option(Wire, frozen=True):
    label: str = ""
    description: str | None = None


class QuestionInfo(Wire, frozen=True):
    question: str = ""
    header: str | None = None
    options: list[Option] = []
    multiple: bool = False


class QuestionAsked(Wire, frozen=True):
    id: str
    session: str = field(default="", name="sessionID")
    questions: list[QuestionInfo] = []
    tool: ToolRef | None = None


class Replied(Wire, frozen=True):
    request: str = field(name="requestID")
    reply: str = "reject"
    answers: list[list[str]] | None = None


# -- what can be chosen -----------------------------------------------------------------------------------------


class ModelCost(Wire, frozen=True):
    """0 also where nobody said."""

    input: float = 0
    output: float = 0


class ModelInfo(Wire, frozen=True):
    id: str
    cost: ModelCost = ModelCost()
    name: str | None = None
    variants: dict[str, Any] = {}


class Provider(Wire, frozen=True):
    id: str
    models: dict[str, ModelInfo] = {}


class Providers(Wire, frozen=True):
    providers: list[Provider] = []


class AgentInfo(Wire, frozen=True):
    name: str
    mode: str = "primary"
    description: str | None = None
    hidden: bool | None = None


class Config(Wire, frozen=True):
    model: str | None = None
