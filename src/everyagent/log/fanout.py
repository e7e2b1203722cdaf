"""Fan-out between nodes: hints about new commits, and the reader that follows them.

A hint may be lost: the events are in the database, and a look at the heads finds those whose hint was lost.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence, Set
from typing import Literal, NamedTuple, Protocol, TypeAlias

import anyio
from msgspec import Struct

from everyagent.errors import EveryagentError, Unavailable
from everyagent.log.chunk import EventChunk
from everyagent.log.projections import PROJECTION
from everyagent.log.recent import Recent
from everyagent.log.signals import ALL_SESSIONS, Signals
from everyagent.log.sql.jobs import Commit
from everyagent.log.tail import Storage
from everyagent.model.responses import BusStatus

#: Seconds between looks at the heads of sessions that are read here.
BEACON_SECONDS = 1.0
#: A session is followed for so many seconds after its last reader was seen waiting.
FOLLOWED_SECONDS = 10.0
#: Readers that are further behind read the database themselves.
MOST_EVENTS = 50_000

News: TypeAlias = Literal["node_left", "keys_changed"]


class Hint(NamedTuple):
    """The events `first` to `last` of a session or projection were committed; `last` is 0 if it was deleted."""

    session: int
    first: int
    last: int


class Announcement(Struct, frozen=True, array_like=True):
    """A message of a node to all others. `commit` is its last one."""

    node_id: str
    commit: int = 0
    hints: Sequence[Hint] = ()
    news: News | None = None


class Bus(Protocol):
    """Carries announcements to all nodes. It may lose some, or deliver them late, twice or to the sender."""

    def announce(self, announcement: Announcement, chunks: Sequence[EventChunk] = ()) -> None:
        """Returns at once. `chunks` are the events of the hints: a bus may bring them to the nodes that follow them."""
        ...

    def follow(self, sessions: Set[int]) -> None:
        """From now on, this node wants the events of these sessions and projections, and of no others."""
        ...

    def status(self, gaps: int) -> BusStatus: ...

    async def run(self) -> None:
        """For ever: keeps the bus connected."""
        ...

    def close(self) -> None:
        """Called in a thread, when `run` has ended."""
        ...


class BusListener(Protocol):
    """Receives from a bus, on the event loop."""

    def announced(self, announcement: Announcement) -> None: ...
    def carried(self, chunk: EventChunk) -> None:
        """Events of another node, after they were committed."""
        ...

    def missed(self) -> None:
        """The bus may have lost something until now."""
        ...


OpenBus: TypeAlias = Callable[[BusListener], Bus]


class Heads(NamedTuple):
    """The last commit, and the last sequences of the sessions that are still there."""

    commit: int
    heads: Mapping[int, int]


def hints_of(commit: Commit) -> list[Hint]:
    gone = [Hint(session, 0, 0) for session in commit.forgotten]
    return gone + [Hint(chunk.session, chunk.first, chunk.last) for chunk in commit.chunks]


def joined(waiting: Sequence[Announcement], hints_each: int) -> Iterator[Announcement]:
    """The same in fewer announcements: one hint a session, as far as they follow each other."""
    hints: dict[int, Hint] = {}
    commit = max((each.commit for each in waiting), default=0)
    for announcement in waiting:
        if announcement.news is not None:
            yield announcement
        for hint in announcement.hints:
            earlier = hints.pop(hint.session, None)
            follows = earlier is not None and earlier.last and hint.last
            hints[hint.session] = hint if not follows or earlier is None else earlier._replace(last=hint.last)
    whole = list(hints.values())
    for start in range(0, len(whole), hints_each):
        yield Announcement(waiting[0].node_id, commit, whole[start : start + hints_each])


class Follower:
    """Brings commits of other nodes to the readers of this one. Each session is followed once for all of its readers.

    `owned` are the sessions that this node owns: their events come from its own writer. `lag` is the number of commits
    that the last look at the heads found before the bus announced them; `gaps` counts reads of events from the
    database, which the bus did not bring.
    """

    def __init__(
        self,
        recent: Recent,
        signals: Signals,
        storage: Storage,
        heads: Callable[[Sequence[int]], Awaitable[Heads]],
        follow: Callable[[Set[int]], None],
    ) -> None:
        self.owned: set[int] = set()
        self.lag = 0
        self.gaps = 0
        self._recent = recent
        self._signals = signals
        self._storage = storage
        self._heads = heads
        self._follow_on_bus = follow
        self._followed: dict[int, float] = {}
        self._waiting: dict[int, Hint] = {}
        self._seen: Mapping[int, int] = {}
        self._woken = asyncio.Event()
        self._gap = asyncio.Event()
        self._clock = asyncio.get_running_loop().time

    def announced(self, announcement: Announcement) -> None:
        for hint in announcement.hints:
            self._note(hint)
        self._advance(announcement.commit)

    def carried(self, chunk: EventChunk) -> None:
        """Committed events that the bus brought. Those that do not follow the known ones are read from the database."""
        session, head = chunk.session, self._recent.head(chunk.session)
        if session & ~PROJECTION in self.owned or session not in self._followed:
            return
        if self._signals.waited_for(session):
            self._followed[session] = self._clock()
        if head is None or chunk.first == head + 1:
            self._recent.publish([chunk])
            self._fire(session)
        elif chunk.last > head:
            self._note(Hint(session, head + 1, chunk.last))

    async def run(self) -> None:
        """For ever: reads what was announced, and looks at the heads from time to time."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._look)
            while True:
                await self._woken.wait()
                self._woken.clear()
                waiting, self._waiting = self._waiting, {}
                async with anyio.create_task_group() as reads:
                    for hint in waiting.values():
                        reads.start_soon(self._follow, hint)

    async def catch_up(self) -> None:
        """Finds the commits of other nodes up to now."""
        self._advance((await self._heads(())).commit)

    def missed(self) -> None:
        """Hints were lost: looks at the heads at once."""
        self._gap.set()

    def _advance(self, commit: int) -> None:
        if commit > self._recent.commit:
            self._recent.commit = commit
            self._signals.fire(ALL_SESSIONS)

    def _note(self, hint: Hint) -> None:
        session, now = hint.session, self._clock()
        if session & ~PROJECTION in self.owned:
            return
        if self._signals.waited_for(session):
            if session not in self._followed:
                self._follow_on_bus({*self._followed, session})
            self._followed[session] = now
        if hint.last and hint.last <= (self._recent.head(session) or 0):
            return
        if not hint.last or now - self._followed.get(session, -FOLLOWED_SECONDS) >= FOLLOWED_SECONDS:
            self._followed.pop(session, None)
            self._drop(session)
            return
        earlier = self._waiting.get(session)
        if earlier is not None:
            hint = Hint(session, min(earlier.first, hint.first), max(earlier.last, hint.last))
        self._waiting[session] = hint
        self._woken.set()

    def _drop(self, session: int) -> None:
        """Readers look for themselves."""
        self._recent.forget(session)
        self._fire(session)

    def _fire(self, session: int) -> None:
        self._signals.fire(session)
        if session & PROJECTION:  # readers of both wait for the session's signal
            self._signals.fire(session & ~PROJECTION)

    async def _follow(self, hint: Hint) -> None:
        session = hint.session
        position = max(self._recent.head(session) or 0, hint.first - 1)
        if hint.last - position > MOST_EVENTS:
            self._drop(session)
            return
        self.gaps += position < hint.last
        try:
            while position < hint.last:
                _, chunk = await self._storage.replay(session, position, None)
                if chunk is None or session & ~PROJECTION in self.owned:
                    break
                head = self._recent.head(session) or 0
                if chunk.last > head:  # else the bus brought it meanwhile
                    self._recent.publish([chunk])
                position = max(chunk.last, head)
        except Unavailable:  # the database is away: the next look at the heads finds the session again
            self._recent.forget(session)
            self._seen = {}
            return
        except EveryagentError:  # deleted or damaged: readers look for themselves, and get the error
            self._recent.forget(session)
        self._fire(session)

    async def _look(self) -> None:
        while True:
            with anyio.move_on_after(BEACON_SECONDS):
                await self._gap.wait()
            self._gap.clear()
            self._choose_followed()
            sessions = list(self._followed)
            try:
                found = await self._heads(sessions)
            except EveryagentError:
                continue  # the database is away, and is asked again
            self.lag = max(0, found.commit - self._recent.commit)
            self._compare(sessions, found.heads)
            self._advance(found.commit)

    def _choose_followed(self) -> None:
        """Sessions with a reader that waits, or waited a moment ago: a reader of a busy session rarely waits."""
        now = self._clock()
        self._followed |= dict.fromkeys(set(self._signals.sessions()) - {ALL_SESSIONS}, now)
        self._followed = {
            session: seen
            for session, seen in self._followed.items()
            if now - seen < FOLLOWED_SECONDS and session & ~PROJECTION not in self.owned
        }
        self._follow_on_bus(self._followed.keys())

    def _compare(self, sessions: Iterable[int], heads: Mapping[int, int]) -> None:
        """Notes the sessions whose head is not the one that readers here know of."""
        seen, self._seen = self._seen, heads
        for session in sessions:
            head, known = heads.get(session, 0), self._recent.head(session)
            if known is None and head and seen.get(session) == head:
                continue
            if known is None or known < head or not head:
                self._note(Hint(session, (known or seen.get(session) or head) + 1, head))
