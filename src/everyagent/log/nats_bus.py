"""A bus over NATS core, which also brings the events themselves to the nodes that follow their sessions.

Messages are signed: a reader gets their events without a look at the database.
"""

import hashlib
import hmac
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence, Set
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import anyio
import msgspec
from msgspec import Struct
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.errors import Error, NoServersError, SlowConsumerError

from everyagent.errors import BusUnavailable
from everyagent.log.chunk import EventChunk
from everyagent.log.fanout import Announcement, BusListener, joined
from everyagent.log.log import StoredEvent
from everyagent.logs import get_logger
from everyagent.model.responses import BusStatus

#: The pause before a lost connection is made again.
RETRY_SECONDS: Final = 0.25
_CONNECT_SECONDS: Final = 3
#: A server that does not answer is given up after two of these.
_PING_SECONDS: Final = 2
_CLOSE_SECONDS: Final = 1.0
_SIGNATURE_BYTES: Final = 16
_HINTS: Final = 1000
#: Events of about so many bytes share a message. Larger ones are read from the database.
_PIECE_BYTES: Final = 64 << 10
_LARGEST: Final = 512 << 10
#: More than this does not wait to be sent: readers find it in the database.
_WAITING_BYTES: Final = 8 << 20

logger = get_logger(__name__)
_announcements = msgspec.msgpack.Decoder(Announcement)


class _Carried(Struct, frozen=True, array_like=True):
    """Consecutive events of a session or projection."""

    session: int
    first: int
    types: list[int]
    bodies: list[bytes]


_carried = msgspec.msgpack.Decoder(_Carried)


class NatsBus:
    """`servers` are addresses with commas between them. `key` is secret, and the same on all nodes of one cluster."""

    def __init__(self, servers: str, key: bytes, listener: BusListener) -> None:
        self._servers = servers
        self._key = key
        self._prefix = f"everyagent.{hashlib.blake2b(b'subjects', key=key, digest_size=16).hexdigest()}"
        self._listener = listener
        self._client: Client | None = None
        self._subscriptions: dict[int, Subscription] = {}
        self._followed: Set[int] = frozenset()
        self._announcements: list[Announcement] = []
        self._chunks: list[EventChunk] = []
        self._waiting_bytes = 0
        self._woken = anyio.Event()
        self._sent = self._received = self._dropped = 0

    @property
    def _connected(self) -> bool:
        return self._client is not None and not self._client.is_closed

    def announce(self, announcement: Announcement, chunks: Sequence[EventChunk] = ()) -> None:
        size = sum(chunk.size for chunk in chunks)
        if not self._connected or self._waiting_bytes + size > _WAITING_BYTES:
            self._dropped += 1
            return
        self._announcements.append(announcement)
        self._chunks += chunks
        self._waiting_bytes += size
        self._woken.set()

    def follow(self, sessions: Set[int]) -> None:
        self._followed = frozenset(sessions)
        if self._followed != self._subscriptions.keys():
            self._woken.set()

    def status(self, gaps: int) -> BusStatus:
        return BusStatus(
            kind="nats",
            connected=self._connected,
            sent=self._sent,
            received=self._received,
            dropped=self._dropped,
            gaps=gaps,
        )

    async def run(self) -> None:
        away = False
        while True:
            try:
                async with _connection(self._servers, self._listener.missed) as self._client:
                    if away:
                        logger.info("the connection to NATS is back", server=_named(self._servers))
                    away = False
                    await self._serve(self._client)
            except (OSError, Error, TimeoutError) as error:
                if not away:
                    logger.warning(
                        "NATS cannot be reached, so events are read from the database",
                        why=_reason(error),
                    )
                away = True
            self._client = None
            self._subscriptions.clear()
            self._take()
            await anyio.sleep(RETRY_SECONDS)

    def close(self) -> None:
        """`run` closed the connection."""

    async def _serve(self, client: Client) -> None:
        """Until the connection is lost. What was announced before a cancellation is sent."""
        await self._subscription(client, f"{self._prefix}.hints", self._announced)
        await client.flush(_CONNECT_SECONDS)
        self._listener.missed()
        try:
            while not client.is_closed:
                await self._send(client)
                with anyio.move_on_after(RETRY_SECONDS):
                    await self._woken.wait()
                self._woken = anyio.Event()
        finally:
            with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
                if not client.is_closed:
                    await self._send(client)

    async def _send(self, client: Client) -> None:
        await self._subscribe(client)
        announcements, chunks = self._take()
        for subject, message in self._messages(announcements, chunks):
            if client.pending_data_size > _WAITING_BYTES or len(message) > min(_LARGEST, client.max_payload):
                self._dropped += 1
                continue
            await client.publish(subject, self._signature(subject, message) + message)
            self._sent += 1

    def _messages(
        self, announcements: Sequence[Announcement], chunks: Sequence[EventChunk]
    ) -> Iterator[tuple[str, bytes]]:
        """Events come before their hints: a node that has them reads nothing."""
        for chunk in chunks:
            for piece in chunk.split(_PIECE_BYTES):
                types, bodies = [event.type for event in piece.events], [event.body for event in piece.events]
                carried = _Carried(piece.session, piece.first, types, bodies)
                yield self._subject(piece.session), msgspec.msgpack.encode(carried)
        for announcement in joined(announcements, _HINTS):
            yield f"{self._prefix}.hints", msgspec.msgpack.encode(announcement)

    async def _subscribe(self, client: Client) -> None:
        for session in self._subscriptions.keys() - self._followed:
            await self._subscriptions.pop(session).unsubscribe()
        for session in self._followed - self._subscriptions.keys():
            self._subscriptions[session] = await self._subscription(client, self._subject(session), self._events_came)

    async def _subscription(self, client: Client, subject: str, take: Callable[[bytes], None]) -> Subscription:
        return await client.subscribe(  # pyright: ignore[reportUnknownMemberType]
            subject, cb=self._reader(take), pending_bytes_limit=_WAITING_BYTES
        )

    def _take(self) -> tuple[list[Announcement], list[EventChunk]]:
        taken = self._announcements, self._chunks
        self._announcements, self._chunks, self._waiting_bytes = [], [], 0
        return taken

    def _reader(self, take: Callable[[bytes], None]) -> Callable[[Msg], Awaitable[None]]:
        async def read(message: Msg) -> None:
            signature, body = message.data[:_SIGNATURE_BYTES], message.data[_SIGNATURE_BYTES:]
            if not hmac.compare_digest(self._signature(message.subject, body), signature):
                return  # not from a node of this cluster
            self._received += 1
            try:
                take(body)
            except msgspec.DecodeError:
                return  # from a node of a newer version

        return read

    def _announced(self, body: bytes) -> None:
        self._listener.announced(_announcements.decode(body))

    def _events_came(self, body: bytes) -> None:
        found = _carried.decode(body)
        events = [
            StoredEvent(sequence, kind, text)
            for sequence, (kind, text) in enumerate(zip(found.types, found.bodies, strict=False), found.first)
        ]
        if events:
            self._listener.carried(EventChunk(found.session, events))

    def _subject(self, session: int) -> str:
        return f"{self._prefix}.events.{session}"

    def _signature(self, subject: str, body: bytes) -> bytes:
        made = hashlib.blake2b(subject.encode(), key=self._key, digest_size=_SIGNATURE_BYTES)
        made.update(body)
        return made.digest()


async def check(servers: str) -> None:
    """Raises `BusUnavailable` if none of the servers can be used."""
    try:
        async with _connection(servers, lambda: None):
            return
    except (OSError, Error, TimeoutError, ValueError) as error:
        raise BusUnavailable(
            f"The NATS server {_named(servers)} cannot be reached or used ({_reason(error)})."
        ) from error


@asynccontextmanager
async def _connection(servers: str, missed: Callable[[], None]) -> AsyncGenerator[Client]:
    """Not one that nats-py makes again by itself: it would give up after some errors, and keep old messages."""
    failures: list[Exception] = []

    async def failed(error: Exception) -> None:
        failures[:] = [error]
        if isinstance(error, SlowConsumerError):
            missed()

    client = Client()
    try:
        await client.connect(
            servers.split(","),
            error_cb=failed,
            name="everyagent",
            allow_reconnect=False,
            connect_timeout=_CONNECT_SECONDS,
            max_reconnect_attempts=1,
            reconnect_time_wait=0,
            ping_interval=_PING_SECONDS,
            no_echo=True,
            skip_subject_validation=True,
        )
        yield client
    except NoServersError as error:
        raise failures[-1] if failures else error from None
    finally:
        with anyio.move_on_after(_CLOSE_SECONDS, shield=True):
            await client.close()


def _named(servers: str) -> str:
    """Without passwords."""
    return ",".join(
        f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}" for parts in map(urlsplit, servers.split(","))
    )


def _reason(error: Exception) -> str:
    return str(error).removeprefix("nats: ").strip().rstrip(".") or type(error).__name__
