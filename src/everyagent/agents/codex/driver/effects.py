"""What the driver has to see to after it has heard a batch: answers that came, answers that are owed."""

from typing import TypeAlias

from msgspec import Raw, Struct

from everyagent.agents.codex.policy.policy_hooks import Ruled
from everyagent.agents.codex.protocol import wire


class Reply(Struct, frozen=True):
    """Codex's answer to a request of ours."""

    id: wire.Id
    result: Raw
    error: wire.RpcError | None


class Answered(Struct, frozen=True):
    """A request of Codex's that needs nobody: this is its answer."""

    id: wire.Id
    result: object


class Unserved(Struct, frozen=True):
    """A request of Codex's that nobody serves, so it must be refused for Codex not to wait for ever."""

    id: wire.Id
    method: str


class Stopped(Struct, frozen=True):
    """A turn of this thread was interrupted; commands that it had started run on."""

    thread: str


class Halted(Struct, frozen=True):
    """A sub-agent was stopped by us; whose thread made it may wait for it, and does not hear of that from Codex."""

    parent: str
    path: str


Aside: TypeAlias = Reply | Answered | Unserved | Stopped | Halted | Ruled
