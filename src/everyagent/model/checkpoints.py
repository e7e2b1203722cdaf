"""Checkpoints of a session's files in the API, and the rewind to one."""

from typing import Literal, TypeAlias

from msgspec import Struct

Restored: TypeAlias = Literal["both", "files", "conversation"]


class RewindSession(Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel", forbid_unknown_fields=True):
    """`sequence` is the last event that counts. One inside a turn stands for the event before that turn.

    With `dryRun` nothing changes: the response, or the error, is that of a rewind.
    """

    sequence: int
    restore: Restored = "both"
    dry_run: bool = False


class RewoundSession(Struct, frozen=True, kw_only=True, rename="camel"):
    """`sequence` is the last event that counts. `files` were brought back, or removed because they were not there.

    `conversation`: the agent continues with what was said until then.
    """

    sequence: int
    files: list[str]
    conversation: bool


class CheckpointInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    """The session's files `before` the turn that began with the event `sequence`, or `after` one that ended by it."""

    sequence: int
    moment: Literal["before", "after"]


class CheckpointList(Struct, frozen=True, kw_only=True, rename="camel"):
    checkpoints: list[CheckpointInfo]
