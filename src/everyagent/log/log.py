"""The `Log` protocol: sessions, their events and all that is committed with them, on any storage.

Called by `sessions/` alone. `testing/log_conformance.py` holds every implementation to it.
"""

from asyncio import Future
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol, TypeAlias

import msgspec
from msgspec import Struct

from everyagent.log.records import Records
from everyagent.log.session_record import SessionChanges, SessionQuery, SessionRecord
from everyagent.log.usage import UsageEntry, UsageQuery, UsageRow
from everyagent.model.asks import AskKind
from everyagent.model.sessions import FrameInfo, SearchHit

if TYPE_CHECKING:
    from everyagent.log.audit import AuditEntry, AuditTrail
    from everyagent.log.chunk import EventChunk
    from everyagent.log.projections import NewProjection, ProjectionQuery, ProjectionRecord, ProjectionStep

FrameDirection: TypeAlias = Literal["from_agent", "to_agent", "from_client", "daemon"]
FrameForm: TypeAlias = Literal["json", "text", "bytes"]
Order: TypeAlias = Literal["asc", "desc"]


class NewEvent(Struct, frozen=True, gc=False):
    """`body` is the encoded envelope, stored and sent unchanged; it ends in `"raw":null}`.

    `type` is its number in `TYPE_NUMBERS`; `frame` the number of the frame it was made from, 0 for none;
    `text` is indexed for full-text search.
    """

    sequence: int
    type: int
    frame: int
    body: bytes
    text: str | None = None


class NewFrame(Struct, frozen=True, gc=False):
    """A native frame or a client's request, byte for byte; or the daemon's own note of what made it act.

    `form` is `json` only if it is valid UTF-8 JSON.
    """

    number: int
    direction: FrameDirection
    form: FrameForm
    body: bytes
    first_sequence: int
    last_sequence: int  # first - 1 when no event was made from it


class NewAsk(NamedTuple):
    ask_id: str
    kind: AskKind
    sequence: int
    request: bytes


class ClosedAsk(NamedTuple):
    ask_id: str
    answer: bytes
    sequence: int


class Input(Struct, frozen=True, kw_only=True):
    """A message that waits for its turn. `item_id` is the id its user item will have; `body` is JSON, or sealed."""

    item_id: str
    body: bytes


class Receipt(Struct, frozen=True, kw_only=True):
    """The response to the first request with this Idempotency-Key."""

    key: str
    fingerprint: str
    status: int
    body: bytes
    headers: dict[str, str] = {}


class Charge(NamedTuple):
    """A cost that an API key pays for."""

    key_id: str
    usd: float


class Append(Struct, kw_only=True):
    """One atomic step of a session. `expected` is the last sequence before it; `at` is in microseconds.

    `charges` are added to what the keys have spent, `used` to the usage; `audit` reports the step in the audit trail.
    """

    session: int
    epoch: int
    expected: int
    at: int
    events: Sequence[NewEvent] = ()
    frames: Sequence[NewFrame] = ()
    changes: SessionChanges | None = None
    asks: Sequence[NewAsk] = ()
    closed_asks: Sequence[ClosedAsk] = ()
    inputs: Sequence[Input] = ()
    taken_inputs: Sequence[str] = ()
    receipt: Receipt | None = None
    projection: "ProjectionStep | None" = None
    charges: Sequence[Charge] = ()
    used: Sequence[UsageEntry] = ()
    audit: "AuditEntry | None" = None


class EventQuery(Struct, frozen=True, kw_only=True):
    """`after` is exclusive; in descending order it is the sequence to stop before (0: from the newest).

    `types` are numbers; empty means all. `since` and `until` are microseconds, inclusive and exclusive.
    `raw` puts each event's frame in place of its `"raw":null`. `text` must occur in the event's JSON, in any case
    (letter by letter: `ß` is `ẞ`, but not `SS`); events whose body is in a blob are left out then.
    """

    session: int
    after: int = 0
    limit: int = 1000
    types: frozenset[int] = frozenset()
    order: Order = "asc"
    since: int | None = None
    until: int | None = None
    raw: bool = False
    text: str = ""


class StoredEvent(Struct, frozen=True, gc=False):
    sequence: int
    type: int
    body: bytes


class EventPage(NamedTuple):
    events: list[StoredEvent]
    more: bool


class JoinedPage(NamedTuple):
    """A page as an answer needs it: its events' bodies with commas between; `head` is the session's last sequence.

    `last` is that of the page's last event, 0 if it has none.
    """

    bodies: bytes
    more: bool
    head: int
    last: int

    def split(self) -> list[bytes]:
        return [bytes(body) for body in msgspec.json.decode(b"[%b]" % self.bodies, type=list[msgspec.Raw])]


class AskRecord(Struct, frozen=True, kw_only=True):
    """`answer` is None while it is pending."""

    ask_id: str
    kind: AskKind
    session: int
    session_id: str
    sequence: int
    asked_at: int
    request: bytes
    answer: bytes | None


class FeedPosition(NamedTuple):
    """A place in the feed of all sessions: the commit, and the last sequence seen of it."""

    commit: int
    sequence: int


class TailPair(NamedTuple):
    """New events of a session and of its projection; at least one of the two."""

    events: "EventChunk | None"
    projection: "EventChunk | None"


class Log(Protocol):
    """Durable storage of sessions. All methods are called from one event loop, which none of them blocks.

    Every write is one transaction: it is whole on disk when its call returns, or nothing of it is there. No reader
    (page, tail or feed) sees an uncommitted write. A write that raises has changed nothing, but `CommitFailed` leaves
    it open: read the session again to know. Any write may raise `StorageFull` or `CommitFailed`, any call
    `Unavailable`; a session that is not there is `SessionNotFound`; a receipt whose key was used is `KeyReused`.

    A read that meets an event or a frame which is not what was written returns those before it; one that begins with it
    raises `LogDamaged`. What is after it can be read. Only the feed leaves it out, so that other sessions are read.

    `identity` names the log in what is kept beside it: a daemon may have another store and the same data folder.
    """

    identity: bytes

    async def create(
        self,
        record: SessionRecord,
        events: Sequence[NewEvent],
        frames: Sequence[NewFrame] = (),
        receipt: Receipt | None = None,
        projection: "NewProjection | None" = None,
        audit: "AuditEntry | None" = None,
    ) -> SessionRecord:
        """Makes a session with its first events, numbered from 1, and its projection, if it has one.

        Returns the record with its new `number`, which rises with each session and is never used again. Raises
        `SessionExists` if the id is taken.
        """
        ...

    async def claim(self, session_id: str) -> SessionRecord:
        """Takes the session over and returns its record: its epoch rises by 1, and appends with an older epoch raise
        `LogFenced` from now on."""
        ...

    def append(self, append: Append, *, patient: bool = False) -> "Future[None]":
        """Commits one step of a session; the future is done when it is on disk. Must not wait before it is queued.

        Appends are committed in the order of the calls, and many may share a transaction: one that is refused does
        not touch the others. `LogConflict` if `expected` is not the session's last sequence or a frame's number is
        not new, `LogFenced` if the epoch is not the session's; both name the head. `AskNotFound` or `AskClosed`
        for an ask that does not fit, `Conflict` for an input whose item id is queued already.
        Readers see the events before the future is done.

        With `patient`, a full disk is waited out (agent output must not be lost); otherwise it is
        `StorageFull` at once. Any other failure to commit (I/O error, database locked by another program) is
        `CommitFailed`; later appends work as soon as the cause is gone. A conflict changes nothing.
        """
        ...

    async def inputs(self, session: int) -> list[Input]:
        """The queue, oldest first."""
        ...

    async def session(self, session_id: str) -> SessionRecord: ...
    async def session_by_number(self, number: int) -> SessionRecord: ...
    async def sessions(self, query: SessionQuery) -> list[SessionRecord]:
        """At most `limit + 1` sessions: the last one only shows that there is another page."""
        ...

    async def open_sessions(self) -> int:
        """The number of sessions of all workspaces that have not ended."""
        ...

    async def size(self) -> int:
        """The bytes of the database, without blobs beside it."""
        ...

    async def unfinished(self) -> list[SessionRecord]:
        """Sessions with a live process, an open turn or queued inputs, oldest first: what a crash left behind."""
        ...

    async def delete(self, session_id: str, audit: "AuditEntry | None" = None) -> None:
        """Deletes the session and all its data. Its tails end, and the feed leaves it out."""
        ...

    async def events(self, query: EventQuery) -> EventPage:
        """At most `limit` events in the order asked for, fewer if they are big; `more` if others follow."""
        ...

    async def joined(self, session_id: str, query: EventQuery, *, projection: bool = False) -> JoinedPage:
        """Like `events`, but faster, by the session's id (`query.session` is ignored), and also for its projection."""
        ...

    async def projection(self, session_id: str) -> "ProjectionRecord":
        """`SessionNotFound` also for a session that has none."""
        ...

    async def projections(self, query: "ProjectionQuery") -> "list[ProjectionRecord]":
        """At most `limit + 1`, like `sessions`."""
        ...

    async def rewrite_projection(self, session: int, step: "ProjectionStep", times: Sequence[int]) -> None:
        """Replaces a whole projection by `step`, which has all its events; `times` are those of the events."""
        ...

    async def frames(self, session: int, after: int, limit: int) -> tuple[list[FrameInfo], bool]:
        """At most `limit` frames after a number, and whether there are more."""
        ...

    async def asks(self, session: int | None, *, pending: bool, workspace: str | None = None) -> list[AskRecord]:
        """Asks of one session or of all, in the order they were asked; only those without an answer if `pending`.

        With a `workspace`, only asks of its sessions.
        """
        ...

    async def ask(self, session: int, ask_id: str) -> AskRecord | None: ...
    async def receipt(self, key: str) -> Receipt | None:
        """None if the key was not used in the last 24 hours."""
        ...

    async def keep_receipt(self, receipt: Receipt) -> None:
        """Keeps the first answer to a key. Raises `KeyReused` if the key came with another fingerprint."""
        ...

    async def search(self, text: str, session: int | None, limit: int, workspace: str | None = None) -> list[SearchHit]:
        """Events whose `text` has every word of the query, best first; the last word may be the start of one.

        With a `workspace`, the best `limit` events of its sessions.
        """
        ...

    def tail(self, session: int, after: int) -> "AsyncIterator[EventChunk | None]":
        """Every event after `after` in order, without gap or repeat, then live; None after 10 seconds without any.

        A reader holds a position and one chunk, no queue: a slow one costs no memory. Readers at the same place
        share one chunk. Ends when the session is deleted or the log is closed. The first step raises
        `SessionNotFound`, or `OffsetOutOfRange` for a position beyond the head.
        """
        ...

    def paired_tail(self, session: int, after: int, projection_after: int) -> "AsyncIterator[TailPair | None]":
        """The tails of a session and of its projection: no event of the projection before those it was made from."""
        ...

    def feed(self, after: FeedPosition | None) -> "AsyncIterator[EventChunk | None]":
        """The events of all sessions, each commit whole, in the order of the commits; from now on if `after` is None.

        Commit numbers rise and are never used again. Deleted sessions and projections are left out.
        """
        ...

    def head(self, session: int) -> int | None:
        """The last committed sequence, if the log has it in memory."""
        ...

    @property
    def last_commit(self) -> int:
        """The number of the newest commit of the feed."""
        ...

    async def reseal(self, anew: Callable[[bytes, str], bytes]) -> int:
        """Replaces every sealed value of sessions, inputs and records by `anew(sealed, id)`, all or none.

        An input is sealed if its body is no JSON object. Returns how many there were.
        """
        ...

    async def spending(self) -> dict[str, float]:
        """The sum of all charges by key. It stays when sessions are deleted."""
        ...

    async def usage(self, query: UsageQuery) -> list[UsageRow]:
        """Sums of everything that was `used`, in no order. They stay when sessions are deleted, without their names."""
        ...

    @property
    def records(self) -> Records:
        """The JSON documents in the same storage."""
        ...

    @property
    def audit(self) -> "AuditTrail": ...

    @property
    def full(self) -> bool:
        """The disk was full at the last commit, and still is as far as we know."""
        ...

    @property
    def damaged(self) -> int:
        """The number of damaged events and frames that reads have found since the start."""
        ...

    @property
    def lost(self) -> str:
        """Why nothing can be written until a restart: the database was deleted. Empty if all is well."""
        ...

    async def close(self) -> None:
        """Commits what was appended before, if it can, and ends all tails. Closing twice is no error."""
        ...
