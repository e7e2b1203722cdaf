"""Effects of decoding, which the driver carries out after each batch: replies to deliver, answers to send."""

from typing import TypeAlias

from msgspec import Raw, Struct

from everyagent.agents.codex.policy.policy_hooks import HookDecision
from everyagent.agents.codex.protocol import wire


class RpcReply(Struct, frozen=True):
    """Codex's answer to a request of ours."""

    id: wire.Id
    result: Raw
    error: object


class ImmediateAnswer(Struct, frozen=True):
    """The answer to a request of Codex's that needs no user."""

    id: wire.Id
    result: object


class UnservedRequest(Struct, frozen=True):
    """A request of Codex's that is not served: it is refused, so that Codex does not wait."""

    id: wire.Id
    method: str


class TurnStopped(Struct, frozen=True):
    """A turn of this thread was interrupted; the commands that it started still run."""

    thread: str


class SubagentHalted(Struct, frozen=True):
    """We stopped a sub-agent. The thread that made it may wait for it, because Codex does not report it there."""

    parent: str
    path: str


CodexEffect: TypeAlias = RpcReply | ImmediateAnswer | UnservedRequest | TurnStopped | SubagentHalted | HookDecision
