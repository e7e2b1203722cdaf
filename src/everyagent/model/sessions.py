"""Sessions in the API: requests that create and change them, and the information about them."""

from typing import Annotated, Literal, TypeAlias

from msgspec import UNSET, Meta, Struct, UnsetType

from everyagent.model.asks import AskKind, AskTimeout
from everyagent.model.events import SessionStatus
from everyagent.model.isolation import Isolation, IsolationChoice
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.model.parts import Json
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.runners import RunnerChoice
from everyagent.model.tools import CustomTool, McpServer
from everyagent.model.usage import MOST_TOKENS, Usage
from everyagent.model.worktrees import WorktreeInfo

Delivery: TypeAlias = Literal["queue", "steer"]
#: When a session ends by itself: never, with its agent's process, or after its first turn.
Lifetime: TypeAlias = Literal["open", "process", "turn"]
#: Seconds; 0 is no limit.
TurnTimeout: TypeAlias = Annotated[float, Meta(ge=0)]
BudgetUsd: TypeAlias = Annotated[float, Meta(gt=0)]
BudgetTokens: TypeAlias = Annotated[int, Meta(gt=0, le=MOST_TOKENS)]
PERMISSION_MODES: tuple[str, ...] = ("default", "plan", "acceptEdits", "bypass")


class CreateSession(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """Without `agent`, the server's default agent is used.

    `allowedHosts` are the only hosts that the agent's commands may connect to (`*.example.org` stands for all
    subdomains); without it their network access is not restricted. `isolation` separates the agent from the machine;
    without it the server's default is used. `limits` are what the agent may use of the machine: those of the server
    where it names none, and never more.

    `lifetime`: an `open` session lives until it is terminated or deleted, a `process` session ends with its agent's
    process, a `turn` session after its first turn.

    `turnTimeout` is the time in seconds for which the agent may send nothing in a turn, before the turn is ended with
    an error; 0 is no limit. Without it the server's default is used. `askTimeout` is the time for which asks wait for
    an answer, and the daemon's answer after it; without it they wait for ever.

    `budgetUsd` and `budgetTokens` are for all turns of the session together: when one is used up, the running turn is
    stopped, and messages are refused until it is raised.

    `secrets` are variables for the agent like `env`, whose values are masked in all that is stored of the session.
    Values of `env` that look like secrets are masked as well.

    `runner` is where the agent runs: the name of a runner, or labels that it must have; without it on the daemon's
    machine. `directory` is then on the runner's machine.

    With `worktree`, the agent works in a git worktree of the repository around `directory`, on a branch of its own. It
    begins at the last commit, without files that are not committed.

    With `checkpoints`, the files in `directory` are kept before and after every turn: the session can be rewound.
    """

    agent: str | None = None
    agent_mode: str | None = None
    permission_mode: str | None = None
    model: str | None = None
    variant: str | None = None
    directory: str | None = None
    title: str | None = None
    env: dict[str, str] = {}
    secrets: dict[str, str] = {}
    mcp: dict[str, McpServer] = {}
    tools: list[CustomTool] = []
    tool_policies: ToolPolicies = UNRESTRICTED
    allowed_hosts: Annotated[list[str], Meta(max_length=256)] | None = None
    isolation: IsolationChoice | None = None
    lifetime: Lifetime = "open"
    limits: AgentLimits = NO_LIMITS
    turn_timeout: TurnTimeout | None = None
    ask_timeout: AskTimeout | None = None
    budget_usd: BudgetUsd | None = None
    budget_tokens: BudgetTokens | None = None
    system_prompt: str | None = None
    metadata: dict[str, str] = {}
    runner: RunnerChoice | None = None
    worktree: bool = False
    checkpoints: bool = False


class UpdateSession(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Fields that are left out do not change. A metadata value of null removes that key. Policies are replaced.

    `askTimeout` applies to asks that follow; null: they wait for ever. A budget of null is no budget.
    """

    agent_mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    metadata: dict[str, str | None] | UnsetType = UNSET
    tool_policies: ToolPolicies | UnsetType = UNSET
    ask_timeout: AskTimeout | UnsetType | None = UNSET
    budget_usd: BudgetUsd | UnsetType | None = UNSET
    budget_tokens: BudgetTokens | UnsetType | None = UNSET


class Attachment(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """A file for the agent: a `path` on the daemon's machine, base64 `data`, or the `fileId` of an uploaded file."""

    path: str | None = None
    data: str | None = None
    file_id: str | None = None
    mime: str | None = None
    filename: str | None = None


class SendMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """`traceparent` is a trace context of W3C, which can also come as a header: the turn belongs to that trace."""

    message: str
    attachments: list[Attachment] = []
    delivery: Delivery = "queue"
    traceparent: Annotated[str, Meta(pattern="^00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$")] | None = None


class QueuedMessage(Struct, frozen=True, kw_only=True, rename="camel"):
    """A message that waits for its turn. `itemId` is the id that its item will have."""

    item_id: str
    message: str
    attachments: int


class ForkSession(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """`sequence` is the last event that the fork keeps; by default all of them."""

    session_id: str | None = None
    sequence: int | None = None
    title: str | None = None
    agent: str | None = None
    model: str | None = None


class ForkOrigin(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str
    sequence: int


class SessionInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """`env` and `mcp` show what is configured, without the secrets. Times are milliseconds since 1970.

    `isolation` is the level of the session's agent, never `auto`; null in a session of an earlier version. `limits` and
    `turnTimeout` are those that the session asked for. `runner` is the name of the runner of its agent. With a
    `worktree`, `directory` is in it.
    """

    session_id: str
    agent: str
    agent_mode: str
    permission_mode: str
    model: str | None
    variant: str | None
    native_session_id: str | None
    status: SessionStatus
    ended: bool
    event_count: int
    created_at: int
    updated_at: int
    directory: str | None
    title: str | None
    metadata: dict[str, str]
    env: list[str]
    mcp: dict[str, Json]
    tools: list[str]
    tool_policies: ToolPolicies = UNRESTRICTED
    allowed_hosts: list[str] | None = None
    isolation: Isolation | None = None
    lifetime: Lifetime = "open"
    limits: AgentLimits = NO_LIMITS
    turn_timeout: float | None = None
    ask_timeout: AskTimeout | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    system_prompt: str | None
    usage: Usage
    cost_usd: float
    pending_asks: int
    queued_messages: int
    forked_from: ForkOrigin | None
    runner: str | None = None
    worktree: WorktreeInfo | None = None
    checkpoints: bool = False


class AskInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """`request` is the data of the requesting event; `answer` is the answer, or null.

    The daemon answers it by itself at `expiresAt`.
    """

    ask_id: str
    kind: AskKind
    session_id: str
    sequence: int
    asked_at: int
    expires_at: int | None = None
    pending: bool
    request: Json
    answer: Json


class FrameInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """One native frame. `sequences` are the events made from it; `body` is text if the frame was not JSON."""

    number: int
    time: str
    direction: Literal["from_agent", "to_agent", "from_client", "daemon"]
    sequences: list[int]
    body: Json


class UnknownFrame(Struct, frozen=True, kw_only=True, rename="camel"):
    """A native frame that could not be decoded. `frame` is its beginning, as text."""

    session_id: str
    sequence: int
    time: str
    error: str
    frame: str


class SearchHit(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str
    sequence: int
    time: str
    title: str | None
    agent: str
    snippet: str
