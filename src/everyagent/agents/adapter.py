"""What an adapter is: the contract between the sessions and the agents.

`sessions/` calls it and hears from it; every folder beside this file is one implementation.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from everyagent.model.agents import Mode, Model
from everyagent.model.asks import Answer
from everyagent.model.events import ErrorCode, EventData, StderrOutput
from everyagent.model.policies import UNRESTRICTED, AgentTool, ToolPolicies
from everyagent.model.sessions import Attachment
from everyagent.model.tools import CustomTool, McpServer


class Capabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """What clients may expect of an agent. The daemon asks these flags, never the agent's name.

    `cost`: it says what each turn cost, whatever the model. `subagent_interrupt`: one sub-agent can be stopped alone.
    """

    plan_mode: bool = False
    permissions: bool = False
    questions: bool = False
    tool_calls: bool = False
    tool_results: bool = False
    text_messages: bool = True
    images: bool = False
    file_attachments: bool = False
    session_lifecycle: bool = False
    error_events: bool = False
    reasoning: bool = False
    status: bool = False
    command_execution: bool = False
    file_changes: bool = False
    mcp_tools: bool = False
    streaming_deltas: bool = False
    item_started: bool = False
    shared_process: bool = False
    variants: bool = False
    custom_tools: bool = False
    subagents: bool = False
    subagent_interrupt: bool = False
    usage: bool = False
    cost: bool = False
    steering: bool = False
    resume: bool = False
    system_prompt: bool = False
    model_change: bool = False
    mode_change: bool = False
    tool_policies: bool = False
    own_tools_off: bool = False


class Catalog(Struct, frozen=True, kw_only=True, rename="camel"):
    """What can be chosen. `open_models`: the agent takes model names that are not listed, too.

    `tools` are the agent's own, which tool policies are about; with `open_tools` it may have more. `sandbox` is how its
    commands are kept to some hosts, if they can be: by itself, or by the shell it is given. That holds in
    `sandbox_modes`, the most trusting first; None: in every permission mode.
    """

    models: list[Model]
    default_model: str | None
    agent_modes: list[Mode]
    permission_modes: list[Mode]
    open_models: bool = False
    tools: list[AgentTool] = []
    open_tools: bool = False
    sandbox: Literal["own", "shell"] | None = None
    sandbox_modes: list[str] | None = None


class AgentState(Struct, frozen=True, kw_only=True, rename="camel"):
    """What is on this machine. `tested_version` is the one this adapter was tested with."""

    installed: bool
    credentials_available: bool
    version: str | None = None
    tested_version: str | None = None
    path: str | None = None
    login: str | None = None
    problem: str | None = None


class CommandShell(Protocol):
    """A bash, as a program; and what makes any other bash that one, if its variable BASH_ENV names it."""

    @property
    def bash(self) -> Path: ...
    @property
    def bash_env(self) -> Path: ...


class Launch(Struct, frozen=True, kw_only=True):
    """A session, as an agent must know it to start or resume.

    `native_session_id` is set to resume; `seed` is a transcript to start from when there is no native history.
    `scratch` is a private folder of this session that survives restarts. `tools_url` is where the session's
    custom tools are offered over MCP, with its bearer token. Those are no business of `policies`, which every other
    tool call keeps to, a sub-agent's too; an adapter is only given what its catalog says that it can enforce. `title`
    is what somebody calls the session already. `hosts` are all that its commands may reach, with None whatever the
    machine reaches; an agent without a sandbox of its own then starts them with `shell`, whatever else names one.
    """

    session_id: str
    directory: Path
    scratch: Path
    permission_mode: str
    agent_mode: str
    model: str | None = None
    variant: str | None = None
    system_prompt: str | None = None
    title: str | None = None
    env: dict[str, str] = {}
    mcp: dict[str, McpServer] = {}
    tools: list[CustomTool] = []
    tools_url: str | None = None
    tools_token: str | None = None
    policies: ToolPolicies = UNRESTRICTED
    hosts: tuple[str, ...] | None = None
    shell: CommandShell | None = None
    native_session_id: str | None = None
    seed: str | None = None


class Prompt(Struct, frozen=True, kw_only=True):
    """A user's message. `item_id` is the universal item it is, for agents that take an id of ours along."""

    item_id: str
    text: str
    attachments: list[Attachment] = []


class Change(Struct, frozen=True, kw_only=True):
    """What shall be different from now on; unset stays as it is."""

    model: str | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    agent_mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    policies: ToolPolicies | UnsetType = UNSET

    def applied_to(self, launch: Launch) -> Launch:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        return replace(launch, **{name: value for name, value in given.items() if value is not UNSET})


class Frame(Struct, frozen=True, gc=False):
    """One thing said, byte for byte: a line, a message, an SSE event."""

    direction: Literal["from_agent", "to_agent"]
    body: bytes
    form: Literal["json", "text", "bytes"] = "json"


class NativeSession(Struct, frozen=True):
    """The agent named its own session: the id to resume it by."""

    id: str


class Synthetic(Struct, frozen=True):
    """An event the adapter made up to fill a gap; the frame it came with is its cause."""

    data: EventData


#: What decoding a frame yields. Inside, `item_id`, `parent_id` and `subagent` are the adapter's own keys for
#: items (native ids, as a rule); `turn_id`s are empty. The session gives the universal ids and fills what the
#: order rules demand and the agent left out. Ask ids are the adapter's own keys, too.
Draft: TypeAlias = EventData | Synthetic | NativeSession


class Heard(Struct, frozen=True, gc=False):
    """A frame and what it means."""

    frame: Frame
    drafts: Sequence[Draft]


class Death(Struct, frozen=True, kw_only=True):
    """How a conversation ended. `expected`: we closed it ourselves, nobody need be told.

    `history_lost`: it could not resume, because the agent no longer has that native session.
    `code`: what went wrong, where the agent's last words say so.
    """

    expected: bool
    history_lost: bool = False
    exit_code: int | None = None
    signal: str | None = None
    stderr: StderrOutput | None = None
    message: str | None = None
    code: ErrorCode | None = None


class Listener(Protocol):
    """The session's ear. Calls come from the conversation's own task, in the order things were said."""

    async def heard(self, batch: Sequence[Heard]) -> None:
        """Returns when there is room for more: until then the conversation must not read on."""
        ...

    async def died(self, death: Death) -> None:
        """Called exactly once, after the last `heard`. Nothing may be heard after it."""
        ...


class Conversation(Protocol):
    """One live native session. Every method may raise `AgentFailed`; none waits for the agent to finish work."""

    async def prompt(self, prompt: Prompt) -> None:
        """Start a turn. The agent must end it with a `TurnEnded` draft, or die."""
        ...

    async def steer(self, prompt: Prompt) -> None:
        """A message into the running turn; called only where `capabilities.steering`."""
        ...

    async def answer(self, ask_key: str, answer: Answer) -> None:
        """Called at most once for each ask, with the key its request was drafted with."""
        ...

    async def interrupt(self) -> None:
        """Ask for the running turn to be stopped; its `TurnEnded` comes as usual."""
        ...

    async def interrupt_subagent(self, call: str) -> bool:
        """Ask for what a sub-agent does to be stopped, by the key of the call that started it; the turn goes on.

        Called only where `capabilities.subagent_interrupt`. The call's result comes as usual. False: it does not run.
        """
        ...

    async def change(self, change: Change) -> bool:
        """Apply it to the live agent. False: only a restart would; the session then restarts it when idle."""
        ...

    async def close(self, *, force: bool = False) -> None:
        """End the process and everything it started; the native session stays resumable.

        Politely, unless `force`. Returns when the whole tree is gone and `died` was called.
        """
        ...


class Adapter(Protocol):
    """One kind of agent."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def state(self) -> AgentState: ...

    async def catalog(self) -> Catalog:
        """Models, variants and modes that really can be chosen; asked of the agent where it can tell."""
        ...

    async def install(self, *, reinstall: bool) -> AgentState: ...

    async def open(self, launch: Launch, listener: Listener) -> Conversation:
        """Start the agent, or attach to a shared one. Raises `AgentFailed` or `AgentNotInstalled`.

        May return before the agent is ready; what goes wrong then is a `died`.
        """
        ...

    async def close(self) -> None:
        """The daemon goes down: end whatever is shared between conversations."""
        ...
