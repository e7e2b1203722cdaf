"""Runners and their keys as the API shows them."""

from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

#: A runner's name, or labels that it must have.
RunnerChoice: TypeAlias = str | dict[str, str]
RunnerName: TypeAlias = Annotated[str, Meta(pattern=r"^[A-Za-z0-9._-]{1,63}$")]


class Mark(Struct, frozen=True, kw_only=True):
    """The place in a runner's conversation up to which it is in the log; stored in one transaction with the events."""

    epoch: int
    sequence: int = 0


class CreateRunnerKey(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """`name` is the name of the runner that connects with the key. A runner may have several keys."""

    name: RunnerName


class RunnerKeyInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """Times are in milliseconds."""

    key_id: str
    name: str
    created_at: int
    revoked_at: int | None = None


class NewRunnerKey(Struct, frozen=True, kw_only=True, rename="camel"):
    """`secret` is shown once: it is not stored."""

    key: RunnerKeyInfo
    secret: str


class RunnerKeyList(Struct, frozen=True, kw_only=True):
    keys: list[RunnerKeyInfo]


class RunnerInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """A runner that is connected, or was since the daemon started. Times are in milliseconds.

    `agents` are those that are installed on its machine; `sessions` have a running agent there.
    """

    name: str
    connected: bool
    version: str
    labels: dict[str, str]
    agents: list[str]
    sessions: int
    seen_at: int


class RunnerList(Struct, frozen=True, kw_only=True):
    runners: list[RunnerInfo]


class Acknowledged(Struct, frozen=True, kw_only=True):
    """The answer to a runner's callback. `sequence` is the last entry that is stored; the runner sends what follows.

    `fenced`: the conversation is not valid any more, and its agent must end.
    """

    sequence: int
    fenced: bool = False
