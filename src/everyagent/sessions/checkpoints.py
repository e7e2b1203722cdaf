"""Checkpoints of sessions: kept before and after their turns, brought back by a rewind, deleted with them."""

import shutil
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypeVar

import msgspec
from anyio import to_thread
from msgspec.structs import replace

from everyagent.agents import items
from everyagent.errors import BadRequest, EveryagentError, OffsetOutOfRange, SessionBusy, SessionNotFound, Unavailable
from everyagent.git.checkpoints import Moment, Store, chosen
from everyagent.git.commands import Git
from everyagent.git.merging import named
from everyagent.log.intact_events import intact_events
from everyagent.log.log import EventQuery, Log, SessionRecord
from everyagent.logs import get_logger
from everyagent.model.checkpoints import CheckpointInfo, RewindSession, RewoundSession
from everyagent.model.decoding import decode_event
from everyagent.model.events import TYPE_NUMBERS, ItemCompleted, TurnEnded, TurnStarted
from everyagent.model.ids import new_id
from everyagent.model.parts import StatusPart
from everyagent.sessions.launch.config import config_of, node_with
from everyagent.sessions.launch.isolation import IsolationPolicy
from everyagent.sessions.locks import Locks
from everyagent.sessions.machine.inputs import Batch
from everyagent.sessions.refusals import session_ended

if TYPE_CHECKING:
    from everyagent.sessions.actor import Actor

#: The file in which a session's checkpoints name their log.
_LOG = "log"
_TURNS = frozenset(TYPE_NUMBERS[data.type] for data in (TurnStarted, TurnEnded))
Hold: TypeAlias = "Callable[[str], AbstractAsyncContextManager[Actor]]"
_T = TypeVar("_T")
logger = get_logger(__name__)


class Checkpoints:
    """`folder` is the daemon's data folder, `node` the name of this node of a cluster.

    `most_bytes` is for the checkpoints of one session, 0 is no limit.
    """

    def __init__(
        self, folder: Path, log: Log, isolation: IsolationPolicy, most_bytes: int, node: str | None = None
    ) -> None:
        self._git = Git(folder / "git")
        self._place = folder / "checkpoints"
        self._log = log
        self._isolation = isolation
        self._most_bytes = most_bytes
        self._node = node
        self._locks = Locks()
        #: Sessions whose last checkpoint failed: trying again would delay each of their turns.
        self._failed: set[int] = set()

    async def before_turn(self, actor: "Actor") -> None:
        if actor.record.open_turn:
            await self._keep(actor, actor.record.open_turn, "before")

    async def after_turn(self, actor: "Actor") -> None:
        await self._keep(actor, actor.machine.state.position.head, "after", time.time_ns())

    async def _keep(self, actor: "Actor", sequence: int, moment: Moment, ended: int | None = None) -> None:
        record = actor.record
        config = config_of(record)
        if not config.checkpoints or config.runner or record.number in self._failed or record.status == "ended":
            return
        if self._elsewhere(record):
            return
        try:
            async with self._locks.hold(str(record.number)):
                if actor.record.status != "ended":  # and perhaps deleted
                    await self._use(record, lambda store: store.keep(sequence, moment, ended=ended))
        except (EveryagentError, OSError) as error:
            self._failed.add(record.number)
            logger.warning("a checkpoint was skipped", session=record.session_id, error=str(error))
            detail = f"{error} No more checkpoints are made until the daemon is started again."
            await actor.submit(_notice("checkpoint_skipped", "No checkpoint of the files", detail))

    async def all(self, session_id: str) -> list[CheckpointInfo]:
        record = await self._log.session(session_id)
        if other := self._elsewhere(record):
            raise Unavailable(
                f"The session's checkpoints are on another machine, on the node {other} of the cluster. Start it."
            )
        async with self._locks.hold(str(record.number)):
            found = await self._use(record, lambda store: store.all()) if self._folder(record).is_dir() else []
        return [CheckpointInfo(sequence=each.sequence, moment=each.moment) for each in found]

    async def rewind(self, session_id: str, request: RewindSession, hold: Hold) -> RewoundSession:
        """Of a session that has ended, only the files can be brought back."""
        record = await self._log.session(session_id)
        head, talks, files = record.last_sequence, request.restore != "files", list[str]()
        if not 1 <= request.sequence <= head:
            raise OffsetOutOfRange(f"This session's events are 1 to {head}.", head=head)
        sequence, next_turn = await self._boundary(record, request.sequence)
        if record.status == "ended":
            if talks:
                raise session_ended(session_id)
            files = await self._restored(record, request, sequence, next_turn, head)
            return RewoundSession(sequence=sequence, files=files, conversation=False)
        async with hold(session_id) as actor, actor.paused:
            _require_idle(actor)
            if request.restore != "conversation":
                head = actor.machine.state.position.head
                files = await self._restored(actor.record, request, sequence, next_turn, head)
            if not request.dry_run:
                await actor.submit(lambda _, __: _rewound(actor, sequence, files, talks=talks))
        return RewoundSession(sequence=sequence, files=files, conversation=talks)

    async def _restored(
        self, record: SessionRecord, request: RewindSession, sequence: int, next_turn: int | None, head: int
    ) -> list[str]:
        if other := self._elsewhere(record):
            raise BadRequest(
                f"The session's files and checkpoints are on another machine, on the node {other} of the cluster. "
                "Start that node, or rewind the `conversation` alone.",
                field="restore",
            )
        begun = await self._begun(record)

        def restore(store: Store) -> list[str]:
            known = store.all()
            wanted = None if next_turn is None else chosen(known, sequence, next_turn)
            last_turn = max(begun, default=0)
            if known and (known[-1].moment == "before" or last_turn > known[-1].sequence):  # none since the last turn
                store.keep(head, "after", protect=wanted)
            wanted = wanted or chosen(store.all(), sequence, None)
            return store.restore(wanted, head, begun, dry_run=request.dry_run)

        async with self._locks.hold(str(record.number)):
            if not self._folder(record).is_dir():
                raise BadRequest(
                    "The session has no checkpoints of its files. Create it with `checkpoints`, or rewind the "
                    "`conversation` alone.",
                    field="restore",
                )
            return await self._use(record, restore)

    async def _begun(self, record: SessionRecord) -> list[int]:
        """The sequences at which turns began."""
        begun = EventQuery(session=record.number, limit=500, types=frozenset((TYPE_NUMBERS[TurnStarted.type],)))
        return [stored.sequence async for stored in intact_events(self._log, begun)]

    async def _boundary(self, record: SessionRecord, sequence: int) -> tuple[int, int | None]:
        """The event between two turns that a sequence stands for, and the beginning of the turn after it."""
        begun = None
        async for stored in intact_events(self._log, EventQuery(session=record.number, limit=500, types=_TURNS)):
            if isinstance(decode_event(stored.body).data, TurnEnded):
                begun = begun if stored.sequence > sequence else None
            elif stored.sequence > sequence:
                return (sequence, stored.sequence) if begun is None else (begun - 1, begun)
            else:
                begun = stored.sequence
        return (sequence, None) if begun is None else (begun - 1, begun)

    async def remove(self, record: SessionRecord) -> None:
        """After the session has ended. One that is being made is waited for, and none is made afterwards."""
        self._failed.discard(record.number)
        async with self._locks.hold(str(record.number)):
            await to_thread.run_sync(_forget, self._folder(record))

    async def sweep(self, session_of: Callable[[int], Awaitable[SessionRecord]]) -> None:
        """Removes the checkpoints of this log's sessions that are not there any more, as a crash leaves them."""
        for folder in await to_thread.run_sync(_of_log, self._place, self._log.identity):
            try:
                known = self._folder(await session_of(int(folder.name.partition("-")[0]))) == folder
            except (SessionNotFound, ValueError):
                known = False
            if not known:
                await to_thread.run_sync(_forget, folder)

    def _elsewhere(self, record: SessionRecord) -> str | None:
        """The name of the other node that has the session's files."""
        config = config_of(record)
        return node_with(Path(config.directory), config, self._node)

    def _folder(self, record: SessionRecord) -> Path:
        """A session of another log may have the number, too, but hardly the time."""
        return self._place / f"{record.number}-{record.created_at}"

    async def _use(self, record: SessionRecord, function: Callable[[Store], _T]) -> _T:
        """The session's lock must be held."""
        store = await to_thread.run_sync(self._opened, record)
        return await to_thread.run_sync(function, store)

    def _opened(self, record: SessionRecord) -> Store:
        config = config_of(record)
        walled = self._isolation.walled(config.isolation)
        store = Store(
            self._git, self._folder(record), Path(config.directory), walled=walled, most_bytes=self._most_bytes
        )
        (self._folder(record) / _LOG).write_bytes(self._log.identity)
        return store


def _forget(folder: Path) -> None:
    try:
        shutil.rmtree(folder)
    except FileNotFoundError:
        pass
    except OSError as error:
        note = "checkpoints were not deleted; the daemon tries again when it starts"
        logger.error(note, folder=str(folder), error=str(error))


def _of_log(place: Path, identity: bytes) -> list[Path]:
    """Those that name this log. A daemon with another store may come back to the others."""
    marks = [folder / _LOG for folder in place.iterdir()] if place.is_dir() else []
    return [mark.parent for mark in marks if mark.is_file() and mark.read_bytes() == identity]


def _require_idle(actor: "Actor") -> None:
    state = actor.machine.state
    if state.busy or state.queue:
        raise SessionBusy("A turn of the session runs or waits. Wait until it ends, or cancel it; then rewind.")


def _rewound(actor: "Actor", sequence: int, files: list[str], *, talks: bool) -> Batch:
    """The event of the rewind. The agent begins again, with the conversation as it was."""
    _require_idle(actor)
    what = [f"Files: {named(files)}."] if files else []
    if talks:
        what.append("The agent does not know what was said since.")
    notice = _notice("rewound", f"Rewound to event {sequence}", " ".join(what) or "No file had to be changed.")
    if not talks:
        return notice
    config = config_of(actor.record)
    config = replace(config, rewound=[*config.rewound, (sequence, actor.machine.state.position.head)])
    return replace(notice, config=msgspec.json.encode(config), forgets=True, restart=True)


def _notice(name: str, label: str, detail: str) -> Batch:
    item = ItemCompleted(item=items.status(new_id("itm_"), name, [StatusPart(label=label, detail=detail)]))
    return Batch(frame=msgspec.json.encode({"cause": name}), direction="daemon", notice=item)
