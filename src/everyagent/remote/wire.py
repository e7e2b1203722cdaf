"""Messages between a runner and its daemon.

The runner opens every connection. `POST /v1/runner/connect` answers with a stream of `Downlink` messages, one JSON
document a line; `POST /v1/runner/callback` takes one `Callback` in MessagePack, `POST /v1/runner/ping` one `Ping` in
JSON. All requests are signed.
"""

from typing import Final, TypeAlias

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.adapter import Change, Death, LaunchOptions, Prompt
from everyagent.model.asks import Answer
from everyagent.model.isolation import Isolation
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.remote.drafts import WireFrame
from everyagent.signatures import derived_secret

#: The header with the id of the key whose secret signed the request.
KEY_HEADER: Final = "everyagent-runner-key"
#: The header of a callback that names its session and epoch, from which the key of its signature is derived.
CONVERSATION_HEADER: Final = "everyagent-runner-conversation"
CONNECT_PATH: Final = "/v1/runner/connect"
CALLBACK_PATH: Final = "/v1/runner/callback"
PING_PATH: Final = "/v1/runner/ping"
#: Seconds between lines of the stream of commands, and between pings of the runner.
HEARTBEAT_SECONDS: Final = 5.0
#: A connection on which one side sends nothing for so long is given up by the other.
SILENCE_SECONDS: Final = 4 * HEARTBEAT_SECONDS
#: A callback is at most about this large, but for one entry that is larger.
CALLBACK_BYTES: Final = 1 << 20
#: The largest callback that a daemon takes.
MAX_CALLBACK_BYTES: Final = 96 << 20


class Held(Struct, frozen=True, kw_only=True):
    """A conversation that the runner has. `last` is the sequence of its newest entry, `command` its last command.

    `busy`: its agent has a turn that did not end by `last`. `asks` are those that the agent waits for; `prompts` are
    the items of the latest messages that the runner got.
    """

    session_id: str
    epoch: int
    last: int
    command: int
    busy: bool = False
    asks: list[str] = []
    prompts: list[str] = []


class Hello(Struct, frozen=True, kw_only=True):
    """The body of a connect. `instance` is new at each start of the runner.

    `scratch` are the sessions that have a private folder on its machine.
    """

    instance: str
    version: str
    labels: dict[str, str] = {}
    agents: list[str] = []
    held: list[Held] = []
    scratch: list[str] = []


class Ping(Struct, frozen=True, kw_only=True):
    """The runner's process works. `connection` is the id of its connect; `number` rises."""

    connection: str
    number: int


class RemoteLaunch(LaunchOptions, frozen=True, kw_only=True, omit_defaults=True):
    """A `Launch` without what the runner decides itself: folders, and the address of the tools.

    `directory` is on the runner's machine; empty for the runner's own. So is `isolation`, if it is not named. With
    `confined`, the session's creator may name files in the runner's folder only.
    """

    agent: str
    directory: str
    hosts: list[str] | None = None
    isolation: Isolation | None = None
    limits: AgentLimits = NO_LIMITS
    confined: bool = False


class Open(Struct, frozen=True, tag="open"):
    launch: RemoteLaunch


class GivePrompt(Struct, frozen=True, tag="prompt"):
    prompt: Prompt


class Steer(Struct, frozen=True, tag="steer"):
    prompt: Prompt


class GiveAnswer(Struct, frozen=True, tag="answer"):
    ask: str
    answer: Answer


class Interrupt(Struct, frozen=True, tag="interrupt"):
    pass


class InterruptSubagent(Struct, frozen=True, tag="interrupt_subagent"):
    call: str


class ApplyChange(Struct, frozen=True, tag="change"):
    change: Change


class Close(Struct, frozen=True, tag="close"):
    force: bool


Action: TypeAlias = Open | GivePrompt | Steer | GiveAnswer | Interrupt | InterruptSubagent | ApplyChange | Close


class Command(Struct, frozen=True, kw_only=True, tag="command"):
    """`number` rises by 1 in a conversation, so a command that is sent again is carried out once."""

    session_id: str
    epoch: int
    number: int
    action: Action


class Position(Struct, frozen=True, kw_only=True):
    """`sequence` is the last entry of a conversation that the daemon has; None if the conversation is not valid."""

    session_id: str
    epoch: int
    sequence: int | None


class Welcome(Struct, frozen=True, kw_only=True, tag="welcome"):
    """The first message of a connection: a position for each conversation that the runner holds."""

    positions: list[Position]


class Replaced(Struct, frozen=True, tag="replaced"):
    """Another process has connected as this runner."""


class Forget(Struct, frozen=True, kw_only=True, tag="forget"):
    """These sessions have ended or were deleted: nothing of them is kept on the runner's machine."""

    sessions: list[str]


Downlink: TypeAlias = Command | Welcome | Replaced | Forget


class Frames(Struct, frozen=True, array_like=True, tag="frames"):
    frames: list[WireFrame]


class Result(Struct, frozen=True, array_like=True, tag="result"):
    """The result of a command. `code` and `error` are those of an `EveryagentError`."""

    command: int
    value: bool | None = None
    code: str | None = None
    error: str | None = None


class Died(Struct, frozen=True, array_like=True, tag="died"):
    death: Death


Entry: TypeAlias = Frames | Result | Died


class Callback(Struct, frozen=True, kw_only=True):
    """Entries of one conversation, numbered from `first`. `command` is the last command that the runner has."""

    session_id: str
    epoch: int
    first: int
    command: int
    entries: list[Raw]


#: What decoding a message of a hostile runner may raise.
UNREADABLE: Final = (msgspec.MsgspecError, ValueError, RecursionError)
entry_decoder: Final = msgspec.msgpack.Decoder(Entry)


def session_secret(secret: bytes, session_id: str, epoch: int) -> bytes:
    """The key that signs the callbacks of one conversation."""
    return derived_secret(secret, salt=b"everyagent runner callback", info=f"{session_id}\n{epoch}".encode())


def signing_secret(key: bytes) -> bytes:
    """The secret that a daemon stores of a runner's key, and that signs its connects."""
    return derived_secret(key, salt=b"everyagent runner key", info=b"signing")
