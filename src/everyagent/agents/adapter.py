"""The adapter interface: the contract between sessions and agents.

To add an agent, implement `Adapter` (one object per kind of agent) and `Conversation` (one per running session), and
report what the agent sends to the `Listener` that `Adapter.open` was given. `mock/` is the smallest implementation.
"""

from collections.abc import Sequence
from pathlib import Path
from socket import socket
from typing import Any, Literal, Protocol, TypeAlias

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from everyagent.model.agents import Mode, Model
from everyagent.model.asks import Answer
from everyagent.model.events import ErrorCode, EventData, StderrOutput
from everyagent.model.isolation import Containers, Isolation
from everyagent.model.policies import UNRESTRICTED, AgentTool, ToolPolicies
from everyagent.model.sessions import Attachment
from everyagent.model.tools import CustomTool, McpServer
from everyagent.runtime.limits import UNLIMITED, ProcessLimits


class Capabilities(Struct, frozen=True, kw_only=True, rename="camel"):
    """The features of an agent. The daemon decides by these flags, never by the agent's name.

    `cost`: the agent reports the cost of each turn, if it knows the price of the model. `messageEcho`: it repeats each
    user message, which completes that message's item. `subagentInterrupt`: a single sub-agent can be stopped.
    `ownToolsOff`: the agent can run without its own tools. `systemMessages`: instructions that come with a turn reach
    the model as a system or developer message.
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
    message_echo: bool = False
    system_messages: bool = False


class Catalog(Struct, frozen=True, kw_only=True, rename="camel"):
    """The choices that an agent offers. `openModels`: it accepts model names that are not listed. `costs`: it reports
    the cost of every model; otherwise of those that are marked so.

    `tools` are the agent's own tools, to which tool policies apply; with `openTools` it may have more. `sandbox` names
    what limits the network of its commands: the agent itself (`own`) or the shell that the daemon gives it (`shell`);
    null if there is no such limit. `sandboxModes` are the permission modes in which the limit holds, the least strict
    first; null for all of them.
    """

    models: list[Model]
    default_model: str | None
    agent_modes: list[Mode]
    permission_modes: list[Mode]
    open_models: bool = False
    costs: bool = False
    tools: list[AgentTool] = []
    open_tools: bool = False
    sandbox: Literal["own", "shell"] | None = None
    sandbox_modes: list[str] | None = None


class AgentState(Struct, frozen=True, kw_only=True, rename="camel"):
    """An agent's installation and login on this machine. The adapter was tested with `testedVersion`.

    `gaps` are sentences that say what the agent's protocol leaves out, or does in another way than others.
    """

    installed: bool
    credentials_available: bool
    version: str | None = None
    tested_version: str | None = None
    path: str | None = None
    login: str | None = None
    problem: str | None = None
    gaps: Sequence[str] = ()


class CommandShell(Protocol):
    """A bash whose commands reach only the hosts that a session allows.

    `bash` is the program; `bash_env` is a file that does the same to any bash whose variable BASH_ENV names it.
    """

    @property
    def bash(self) -> Path: ...
    @property
    def bash_env(self) -> Path: ...
    @property
    def network(self) -> socket | None:
        """Behind a wall, the agent's process gets this socket when it starts."""
        ...


def bash_variables(shell: CommandShell | None) -> dict[str, str]:
    """Variables that limit any bash which an agent starts with a command.

    SHLVL: a bash of the lowest level whose input is a socket takes its caller for rshd, and reads no BASH_ENV.
    """
    return {"BASH_ENV": str(shell.bash_env), "SHLVL": "1"} if shell else {}


#: Agents that ask a permission hook before every tool call; others do so only for tool policies.
ALWAYS_HOOKED = frozenset({"amp"})


class GitFolders(Struct, frozen=True, kw_only=True):
    """The agent of a worktree may read the git folder `common`, and change the `writable` folders: some are in it."""

    common: Path
    writable: tuple[Path, ...]


class LaunchOptions(Struct, frozen=True, kw_only=True):
    """The options of a launch that are the same on every machine.

    * `system_message` is the end of `system_prompt` that came with the turn which is about to begin. An agent that
      resumes its own session does not have it yet.
    * `native_session_id` is set to resume the agent's own session. `seed` is a transcript to begin with if the agent
      has no history of the session. `title` is the session's title, if any.
    * `tools` are the session's custom tools, on an MCP server that takes `tools_token`. Tool policies do not apply to
      those.
    * `policies` apply to every other tool call, those of sub-agents included. An adapter only gets policies that its
      capabilities and its catalog say it can enforce.
    * `hook_token` is the token with which permission hooks of the agent ask the daemon. None for an adapter's own.
    * `secrets` are values that are masked in all that is stored of the session, by name, besides those of `env`, `mcp`,
      `tools_token` and `hook_token`. The agent does not get them from here.
    """

    permission_mode: str
    agent_mode: str
    model: str | None = None
    variant: str | None = None
    system_prompt: str | None = None
    system_message: str = ""
    title: str | None = None
    env: dict[str, str] = {}
    mcp: dict[str, McpServer] = {}
    secrets: dict[str, str] = {}
    tools: list[CustomTool] = []
    tools_token: str | None = None
    hook_token: str | None = None
    policies: ToolPolicies = UNRESTRICTED
    native_session_id: str | None = None
    seed: str | None = None

    def options(self) -> dict[str, Any]:
        """By name, for a launch on another machine."""
        return {name: getattr(self, name) for name in LaunchOptions.__struct_fields__}


class Launch(LaunchOptions, frozen=True, kw_only=True):
    """Everything an agent needs to start, or to resume, a session.

    * `scratch` is a private folder of the session that outlives the process.
    * `tools_url` leads to the MCP server with the session's custom tools.
    * `hosts` are the only hosts that commands may reach; None for no limit. An agent without a sandbox of its own must
      then run its commands in `shell`, even if its settings name another one.
    * Behind a wall, paths that the session's `env` and `mcp` name are shown; only those in `confined_to`, if it is set.
      So are the `packages`, folders of the daemon in which it installed programs for the session.
    * `git` are the folders that git needs for a session with a worktree of its own.
    * `isolation` is the level at which the agent's processes run. Behind a wall (`walls.py`), `hidden` paths are not
      there. `containers` is set for the level `container`. `limits` are those of the processes.
    """

    session_id: str
    directory: Path
    scratch: Path
    tools_url: str | None = None
    hosts: tuple[str, ...] | None = None
    shell: CommandShell | None = None
    isolation: Isolation = "none"
    containers: Containers | None = None
    limits: ProcessLimits = UNLIMITED
    hidden: tuple[Path, ...] = ()
    git: GitFolders | None = None
    confined_to: Path | None = None
    packages: tuple[Path, ...] = ()


class Prompt(Struct, frozen=True, kw_only=True):
    """A user's message. `item_id` is its universal item, for agents that accept an id from their client.

    `system` came with it: the agent has it already when it gets the prompt, by its launch or by a change. An agent that
    takes a trace context gets `traceparent`.
    """

    item_id: str
    text: str
    system: str = ""
    attachments: list[Attachment] = []
    traceparent: str | None = None


class Change(Struct, frozen=True, kw_only=True):
    """Settings of a running session that change now. Unset fields do not change.

    `system_message` is added to the system prompt, between turns. Set only if `capabilities.system_messages`.
    """

    model: str | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    agent_mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    policies: ToolPolicies | UnsetType = UNSET
    system_message: str | UnsetType = UNSET

    def applied_to(self, launch: Launch) -> Launch:
        given = {name: getattr(self, name) for name in self.__struct_fields__}
        if self.system_message is not UNSET:
            given["system_prompt"] = joined_instructions(launch.system_prompt, self.system_message)
        return replace(launch, **{name: value for name, value in given.items() if value is not UNSET})


def joined_instructions(*texts: str | None) -> str | None:
    """A system prompt of these parts."""
    return "\n\n".join(text for text in texts if text) or None


class Frame(Struct, frozen=True, gc=False):
    """One native message, byte for byte: a line, a JSON-RPC message, an SSE event."""

    direction: Literal["from_agent", "to_agent"]
    body: bytes
    form: Literal["json", "text", "bytes"] = "json"


class NativeSession(Struct, frozen=True):
    """The id of the agent's own session, by which it can be resumed.

    `started`: its frame reports the start of that session, which becomes an event.
    """

    id: str
    started: bool = True


class Echo(Struct, frozen=True):
    """The agent repeated the oldest user message that it had not repeated yet, under an id of its own."""

    native_item_id: str | None


class Synthetic(Struct, frozen=True):
    """An event that the adapter infers and the agent did not send; the frame it comes with is its cause."""

    data: EventData


#: The result of decoding a frame. `item_id`, `parent_id`, `subagent` and the ids of asks are the adapter's own keys, as
#: a rule native ids; a key stands for one item for as long as the conversation lasts (`item_keys.py`). `turn_id` is
#: empty. The session assigns universal ids, and adds the events that the order rules demand and the agent left out.
Draft: TypeAlias = EventData | Synthetic | NativeSession | Echo


class DecodedFrame(Struct, frozen=True, gc=False):
    """A frame and the events that were decoded from it; none for a frame that the daemon sent."""

    frame: Frame
    drafts: Sequence[Draft]


class Death(Struct, frozen=True, kw_only=True):
    """The end of a conversation. `expected`: the daemon closed it, so no error is reported.

    `history_lost`: the agent no longer has the native session that it was to resume. `code` classifies the failure, if
    that is known; `internal` is a fault of the daemon's own code.
    """

    expected: bool
    history_lost: bool = False
    exit_code: int | None = None
    signal: str | None = None
    stderr: StderrOutput | None = None
    message: str | None = None
    code: ErrorCode | None = None


class Listener(Protocol):
    """Receives what an agent sends. The conversation calls it from one task, in the order of the frames."""

    async def received(self, batch: Sequence[DecodedFrame]) -> None:
        """Frames in both directions. Wait for it before you read more: that is how a slow disk slows the agent down."""
        ...

    async def died(self, death: Death) -> None:
        """The conversation is over. Call it exactly once, after the last `received`."""
        ...


class Conversation(Protocol):
    """A running session of an agent. Methods do not wait for the agent's work, and raise `AgentFailed` or nothing.

    Any other exception is a defect: the agent is ended, and its session gets an `error` with code `internal`.
    """

    async def prompt(self, prompt: Prompt) -> None:
        """Start a turn. It ends with a `TurnEnded` draft or with the conversation's death."""
        ...

    async def steer(self, prompt: Prompt) -> None:
        """Add a message to the running turn. Called only if `capabilities.steering`."""
        ...

    async def answer(self, ask_key: str, answer: Answer) -> None:
        """Answer a permission or a question, by the key of its request's draft. Called at most once for each."""
        ...

    async def interrupt(self) -> None:
        """Ask the agent to stop the running turn, which then ends with a `TurnEnded` draft as usual."""
        ...

    async def interrupt_subagent(self, call: str) -> bool:
        """Stop one sub-agent, by the key of the call that started it. The turn continues, and the call gets its result.

        Called only if `capabilities.subagent_interrupt`. Returns False if that sub-agent does not run.
        """
        ...

    async def change(self, change: Change) -> bool:
        """Apply a change to the running agent. Returns False if it takes a restart: the session does that when idle."""
        ...

    async def close(self, *, force: bool = False) -> None:
        """End the process and everything it started, at once if `force`. The native session can still be resumed.

        Returns when the whole process tree is gone and `Listener.died` has returned.
        """
        ...


class Adapter(Protocol):
    """One kind of agent: how it is installed, what it offers, and how sessions with it are opened."""

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def capabilities(self) -> Capabilities: ...

    async def state(self) -> AgentState: ...

    async def catalog(self) -> Catalog:
        """The models, variants and modes that can be chosen, from the agent itself where it can list them."""
        ...

    async def install(self, *, reinstall: bool) -> AgentState: ...

    async def open(self, launch: Launch, listener: Listener) -> Conversation:
        """Start the agent, or attach to a shared one. Raises `AgentFailed` or `AgentNotInstalled`.

        May return before the agent is ready; failures after that are reported with `Listener.died`.
        """
        ...

    async def close(self) -> None:
        """End everything that conversations share. Called when the daemon stops."""
        ...
