"""A runner in the test's own process, which says what the test wants, signed as the test wants."""

import asyncio
import time
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import msgspec

from everyagent.agents.adapter import DecodedFrame, Frame
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.model.events import DeltaKind, ItemDelta, ItemStarted, PermissionRequested, TurnEnded
from everyagent.model.ids import new_id
from everyagent.model.items import Item
from everyagent.model.runners import Acknowledged
from everyagent.model.sessions import CreateSession, SendMessage
from everyagent.remote import wire
from everyagent.remote.connection import RunnerConnection
from everyagent.remote.drafts import encoded
from everyagent.remote.keys import parsed_key
from everyagent.remote.runners import Runners
from everyagent.sessions import EventsRequest, Sessions
from everyagent.sessions.limits import Limits
from everyagent.signatures import signed_headers
from tests.waiting import LIMIT_SECONDS


def now() -> int:
    return int(time.time())


class ScriptedRunner:
    """Connected as `name`. `commands` are those that it got."""

    def __init__(self, runners: Runners, key: str) -> None:
        self.runners = runners
        self.key_id, self.secret = "", b""
        if key:
            self.key_id, raw = parsed_key(key)
            self.secret = wire.signing_secret(raw)
        self.commands: list[wire.Command] = []
        self.welcome: wire.Welcome | None = None
        self.replaced = False
        self.forgotten: list[str] = []
        self.connected_with: tuple[dict[str, str], bytes] = {}, b""
        self.connection: RunnerConnection | None = None
        self._task: asyncio.Task[None] | None = None

    def signed(
        self, secret: bytes, body: bytes, *, at: int | None = None, of: tuple[str, int] | None = None
    ) -> dict[str, str]:
        """`of` are the session and the epoch of a callback."""
        headers = signed_headers(secret, new_id("msg_"), now() if at is None else at, body)
        conversation = {wire.CONVERSATION_HEADER: f"{of[0]} {of[1]}"} if of else {}
        return headers | {wire.KEY_HEADER: self.key_id} | conversation

    async def connect_again(self) -> None:
        """Sends the last connect again, as a thief would who has captured it."""
        await self.runners.connect(*self.connected_with)

    async def connect(
        self,
        *held: wire.Held,
        instance: str = "one",
        labels: dict[str, str] | None = None,
        agents: Sequence[str] = ("mock",),
        scratch: Sequence[str] = (),
    ) -> None:
        hello = wire.Hello(
            instance=instance, version="1", labels=labels or {}, agents=[*agents], held=[*held], scratch=[*scratch]
        )
        body = msgspec.json.encode(hello)
        self.connected_with = self.signed(self.secret, body), body
        self.connection = await self.runners.connect(*self.connected_with)
        self._task = asyncio.get_running_loop().create_task(self._listen(self.connection))

    async def _listen(self, connection: RunnerConnection) -> None:
        async for line in connection.lines():
            message = msgspec.json.decode(line, type=wire.Downlink) if line.strip() else None
            match message:
                case wire.Command():
                    self.commands.append(message)
                case wire.Welcome():
                    self.welcome = message
                case wire.Replaced():
                    self.replaced = True
                case wire.Forget():
                    self.forgotten += message.sessions
                case _:
                    continue

    async def ping(self, number: int, connection: str | None = None) -> None:
        assert self.connection
        body = msgspec.json.encode(wire.Ping(connection=connection or self.connection.id, number=number))
        await self.runners.ping(self.signed(self.secret, body), body)

    def disconnect(self) -> None:
        assert self.connection
        assert self._task
        self._task.cancel()
        self.runners.lost(self.connection)

    async def command(self, kind: type[wire.Action], session_id: str) -> wire.Command:
        """The newest command of a kind, when it has come."""
        with anyio.fail_after(LIMIT_SECONDS):
            while True:
                found = [c for c in self.commands if isinstance(c.action, kind) and c.session_id == session_id]
                if found:
                    return found[-1]
                await anyio.sleep(0.005)

    def callback(self, session_id: str, epoch: int, first: int, *entries: wire.Entry, command: int = 99) -> bytes:
        raw = [msgspec.Raw(msgspec.msgpack.encode(entry)) for entry in entries]
        return msgspec.msgpack.encode(
            wire.Callback(session_id=session_id, epoch=epoch, first=first, command=command, entries=raw)
        )

    async def send(self, session_id: str, epoch: int, first: int, *entries: wire.Entry) -> Acknowledged:
        body = self.callback(session_id, epoch, first, *entries)
        secret = wire.session_secret(self.secret, session_id, epoch)
        return await self.runners.callback(self.signed(secret, body, of=(session_id, epoch)), body)

    async def begin(self, sessions: Sessions, session_id: str) -> int:
        """A session with a turn whose agent has begun a message. Returns its epoch; sequence 3 comes next."""
        await sessions.create(session_id, CreateSession(agent="mock", runner="far"))
        return await self.prompted(sessions, session_id)

    async def prompted(self, sessions: Sessions, session_id: str) -> int:
        await sessions.send(session_id, SendMessage(message="hello"))
        opened = await self.command(wire.Open, session_id)
        await self.send(session_id, opened.epoch, 1, wire.Result(opened.number))
        prompt = await self.command(wire.GivePrompt, session_id)
        assert await self.send(session_id, opened.epoch, 2, wire.Result(prompt.number)) == Acknowledged(sequence=2)
        return opened.epoch


def frames(*drafts: ItemStarted | ItemDelta | PermissionRequested | TurnEnded) -> wire.Frames:
    return wire.Frames(encoded([DecodedFrame(Frame("from_agent", b'{"a":1}'), drafts)]))


def started(epoch: int) -> wire.Frames:
    item = Item(
        item_id=f"{epoch}.1.m",
        native_item_id="m",
        parent_id=None,
        kind="message",
        role="assistant",
        status="in_progress",
        content=[],
    )
    return frames(ItemStarted(item=item))


def delta(epoch: int, text: str, kind: DeltaKind = "text", index: int = 0) -> wire.Frames:
    return frames(ItemDelta(item_id=f"{epoch}.1.m", native_item_id="m", delta=text, content_index=index, kind=kind))


def ended() -> wire.Frames:
    return frames(TurnEnded(turn_id="", stop_reason="end_turn"))


def held(session_id: str, epoch: int, last: int, *, command: int = 2, busy: bool = True) -> wire.Held:
    return wire.Held(session_id=session_id, epoch=epoch, last=last, command=command, busy=busy)


async def bodies(sessions: Sessions, session_id: str) -> list[bytes]:
    found: list[bytes] = []
    while True:
        page = await sessions.events(session_id, EventsRequest(after=len(found), limit=10_000))
        found += page.split()
        if not page.more:
            return found


@asynccontextmanager
async def remote_sessions(
    folder: Path, lease: float = 300.0, *, before: ScriptedRunner | None = None, limits: Limits | None = None
) -> AsyncGenerator[tuple[Sessions, ScriptedRunner]]:
    """The sessions of a daemon, and its connected runner `far`. With `before`, the same runner, not connected yet."""
    settings = Settings(data_dir=folder, runner_lease=lease)
    async with sessions_of(settings, limits=limits or Limits()) as sessions:
        runners = sessions.services.runners.runners
        runner = ScriptedRunner(runners, "" if before else (await runners.keys.create("far")).secret)
        if before:
            runner.key_id, runner.secret = before.key_id, before.secret
        else:
            await runner.connect()
        yield sessions, runner
        sessions.services.runners.close()
