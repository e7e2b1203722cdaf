"""The row of a session in the log, changes of it, and queries for it."""

from collections.abc import Sequence

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from everyagent.log.records import DEFAULT_WORKSPACE
from everyagent.model.events import SessionStatus
from everyagent.model.usage import Usage


class SessionRecord(Struct, frozen=True, kw_only=True):
    """The session's row. `number` is the log's own short name for it.

    `config` is encoded JSON, of which the log reads the `directory` for lists; `secrets` is encrypted. `open_turn` is
    the sequence of the `turn.started` that has no `turn.ended` yet, or 0. `live`: a process was started for it.
    `workspace` never changes. `topic` is the beginning of the first message.
    """

    number: int
    session_id: str
    agent: str
    created_at: int
    updated_at: int
    config: bytes
    secrets: bytes | None
    epoch: int = 0
    last_sequence: int = 0
    last_frame: int = 0
    last_at: int = 0
    status: SessionStatus = "idle"
    native_session_id: str | None = None
    agent_mode: str = ""
    permission_mode: str = "default"
    model: str | None = None
    variant: str | None = None
    title: str | None = None
    metadata: dict[str, str] = {}
    usage: Usage = Usage()
    cost_usd: float = 0.0
    open_turn: int = 0
    live: bool = False
    pending_asks: int = 0
    queued_inputs: int = 0
    workspace: str = DEFAULT_WORKSPACE
    topic: str | None = None

    @property
    def shown_title(self) -> str | None:
        """Its title, or what it is called until somebody sets one."""
        return self.topic if self.title is None else self.title


class SessionChanges(Struct, frozen=True, kw_only=True):
    """New values for the session's row, committed with the events that report them."""

    status: SessionStatus | UnsetType = UNSET
    native_session_id: str | UnsetType | None = UNSET
    agent_mode: str | UnsetType = UNSET
    permission_mode: str | UnsetType = UNSET
    model: str | UnsetType | None = UNSET
    variant: str | UnsetType | None = UNSET
    title: str | UnsetType | None = UNSET
    metadata: dict[str, str] | UnsetType = UNSET
    usage: Usage | UnsetType = UNSET
    cost_usd: float | UnsetType = UNSET
    open_turn: int | UnsetType = UNSET
    live: bool | UnsetType = UNSET
    config: bytes | UnsetType = UNSET
    topic: str | UnsetType = UNSET

    def applied_to(self, record: SessionRecord) -> SessionRecord:
        given = {name: value for name in self.__struct_fields__ if (value := getattr(self, name)) is not UNSET}
        return replace(record, **given)


class SessionQuery(Struct, frozen=True, kw_only=True):
    """Newest first. `before` is the number of the last session of the page before; `workspace` None means all.

    `since` and `until` are limits on the time of creation, in microseconds, inclusive and exclusive. `metadata` has the
    pairs that a session must have, all of them.
    """

    status: SessionStatus | None = None
    agent: str | None = None
    directory: str | None = None
    metadata: Sequence[tuple[str, str]] = ()
    since: int | None = None
    until: int | None = None
    limit: int = 100
    before: int | None = None
    workspace: str | None = None
