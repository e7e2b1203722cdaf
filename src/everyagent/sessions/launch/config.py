"""The configuration of a session beyond its row, as JSON that the log does not read."""

from pathlib import Path

import msgspec
from msgspec import Struct, field

from everyagent.git.worktree import Worktree
from everyagent.log.log import SessionRecord
from everyagent.model.asks import AskTimeout
from everyagent.model.isolation import Isolation
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.model.parts import Json
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.runners import Mark
from everyagent.model.sessions import ForkOrigin, Lifetime
from everyagent.model.tools import CustomTool, McpServer


class AnsweredIds(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Asks that a client answered when their agent had ended with its daemon. `sessions/machine/parked.py` has more."""

    undelivered: list[str] = field(default_factory=list, name="untold")
    granted: list[str] = []


class SessionConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`env` holds names and `mcp` a redacted view; the values are in `SessionSecrets`.

    `isolation` is None for a session of an earlier version, `turn_timeout` for one that named none: they get the
    server's default.

    The client runs `tools`, the daemon `own_tools`.

    `system_messages` came with turns: they follow the system prompt. Secrets in them are masked.

    With a `worktree`, `directory` is in it. Files that the request named are shown to the agent behind its wall only in
    the folder `confined_to`, if that is set: an API key created the session.

    Each pair of `rewound` stands for events that no longer count: those after the first number, up to the second.

    The agent runs on the machine of `runner`, if that is set. `runner_mark` is how far its conversation is in the log.

    In a cluster, `node` is the name of the node with the directory; that of a managed session is made anew elsewhere.
    """

    directory: str
    worktree: Worktree | None = None
    confined_to: str | None = None
    checkpoints: bool = False
    rewound: list[tuple[int, int]] = []
    system_prompt: str | None = None
    system_messages: list[str] = []
    tools: list[CustomTool] = []
    own_tools: list[CustomTool] = []
    tool_policies: ToolPolicies = UNRESTRICTED
    allowed_hosts: list[str] | None = None
    env: list[str] = []
    mcp: dict[str, Json] = {}
    isolation: Isolation | None = None
    lifetime: Lifetime = "open"
    limits: AgentLimits = NO_LIMITS
    turn_timeout: float | None = None
    ask_timeout: AskTimeout | None = None
    budget_usd: float | None = None
    budget_tokens: int | None = None
    forked_from: ForkOrigin | None = None
    answered: AnsweredIds = AnsweredIds()
    runner: str | None = None
    runner_mark: Mark | None = None
    node: str | None = None


class SessionSecrets(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Encrypted before it is stored; never in an event, a frame or a response.

    `secrets` are the names of those variables in `env` that the client called secret. `system_prompt` is set if it has
    a secret in it; the configuration then has it masked.
    """

    env: dict[str, str] = {}
    secrets: list[str] = []
    system_prompt: str | None = None
    mcp: dict[str, McpServer] = {}

    @property
    def named(self) -> dict[str, str]:
        return {name: self.env[name] for name in self.secrets}


def node_with(directory: Path, config: SessionConfig, here: str | None) -> str | None:
    """The name of the other node that has the session's directory, if the one called `here` has not."""
    if here is None or config.runner is not None or config.node in (None, here) or directory.is_dir():
        return None
    return config.node


def config_of(record: SessionRecord) -> SessionConfig:
    return msgspec.json.decode(record.config, type=SessionConfig)
