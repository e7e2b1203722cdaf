"""Fake sessions in memory, with what the HTTP API needs and hooks for tests."""

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import cast

import anyio
import msgspec

from everyagent.agents.adapter import Capabilities, Catalog
from everyagent.clock import SystemClock
from everyagent.errors import (
    AskClosed,
    AskNotFound,
    BadRequest,
    OffsetOutOfRange,
    RecordNotFound,
    SessionExists,
    SessionHasEnded,
    SessionNotFound,
    UnknownAgent,
)
from everyagent.log.log import Receipt, StoredEvent
from everyagent.log.records import Record, Records
from everyagent.model.agents import Mode, Model
from everyagent.model.asks import Answer, PermissionAnswer, ToolAnswer
from everyagent.model.events import TYPE_NUMBERS
from everyagent.model.ids import new_id
from everyagent.model.parts import Json
from everyagent.model.responses import StorageState
from everyagent.model.sessions import (
    AskInfo,
    CreateSession,
    ForkSession,
    FrameInfo,
    QueuedMessage,
    SearchHit,
    SendMessage,
    SessionInfo,
    UnknownFrame,
    UpdateSession,
)
from everyagent.model.tools import CustomTool
from everyagent.model.usage import Usage
from everyagent.sessions import AgentInfo, EventChunk, EventsRequest, Installing, JoinedPage, SessionQuery
from everyagent.sessions.counts import Counts
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.sessions.services import Services

MODES = [Mode(id="default", name="Default", description="Ask for what matters.")]


class FakeAgents:
    counts = Counts()

    def names(self) -> list[str]:
        return ["mock"]

    async def infos(self) -> list[AgentInfo]:
        return [
            AgentInfo(
                id="mock",
                title="Mock",
                installed=True,
                credentials_available=True,
                version="1",
                tested_version="1",
                path=None,
                login=None,
                problem=None,
                capabilities=Capabilities(),
                unknown_frames=0,
                installation=Installing(),
            )
        ]

    async def models(self, agent: str) -> Catalog:
        self.check(agent)
        models = [Model(id="mock-1", variants=["low", "high"])]
        return Catalog(models=models, default_model="mock-1", agent_modes=MODES, permission_modes=MODES)

    async def install(self, agent: str, *, reinstall: bool) -> None:
        self.check(agent)

    async def installing(self, agent: str) -> Installing:
        self.check(agent)
        return Installing()

    def unknown_frames(self, agent: str) -> "list[UnknownFrame]":
        self.check(agent)
        return []

    def check(self, agent: str) -> None:
        if agent != "mock":
            raise UnknownAgent(f"There is no agent {agent!r}. There is: mock.", agent=agent, agents=["mock"])


class NoRecords:
    """A log without receipts."""

    async def find(self, kind: str, id: str) -> Record:
        raise RecordNotFound(f"There is no {kind} {id!r}.")


class FakeTail:
    """A tail that a test feeds with `chunks`; `closed` is set when the reader has closed it."""

    def __init__(self, replay: list[EventChunk]) -> None:
        self.feed, self._chunks = anyio.create_memory_object_stream[EventChunk | None](100)
        for chunk in replay:
            self.feed.send_nowait(chunk)
        self.closed = anyio.Event()

    def __aiter__(self) -> "FakeTail":
        return self

    async def __anext__(self) -> EventChunk | None:
        try:
            return await self._chunks.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self._chunks.close()
        self.feed.close()
        self.closed.set()


class FakeSessions:
    def __init__(self, directory: Path) -> None:
        self.agents = FakeAgents()
        self.services = Services(
            folder=directory,
            records=cast(Records, NoRecords()),
            vault=SecretVault(directory / "vault.key", bytes(32)),
            clock=SystemClock(),
            default_agent="mock",
        )
        self.projected = None
        self.storage = StorageState()
        self.root = directory
        self.infos: dict[str, SessionInfo] = {}
        self.bodies: dict[str, list[bytes]] = {}
        self.receipts: dict[str, Receipt] = {}
        self.open_asks: dict[str, AskInfo] = {}
        self.tails: list[FakeTail] = []
        self.effects: list[str] = []
        self.gate: anyio.Event | None = None  # holds creations back while it is not set
        self.failure: Exception | None = None  # raised by the next creation
        self.endless = True  # tails of sessions that have not ended stay open

    def add(self, session_id: str, count: int = 3, *, ended: bool = False) -> None:
        bodies = [event(session_id, sequence) for sequence in range(1, count + 1)]
        self.bodies[session_id] = bodies
        self.infos[session_id] = SessionInfo(
            session_id=session_id,
            agent="mock",
            agent_mode="default",
            permission_mode="default",
            model=None,
            variant=None,
            native_session_id=None,
            status="ended" if ended else "idle",
            ended=ended,
            event_count=count,
            created_at=1,
            updated_at=1,
            directory=str(self.root),
            title=None,
            metadata={},
            env=[],
            mcp={},
            tools=[],
            system_prompt=None,
            usage=Usage(),
            cost_usd=0.0,
            pending_asks=0,
            queued_messages=0,
            forked_from=None,
        )

    def ask(self, session_id: str, ask_id: str) -> None:
        self.open_asks[ask_id] = AskInfo(
            ask_id=ask_id,
            kind="permission",
            session_id=session_id,
            sequence=1,
            asked_at=1,
            pending=True,
            request={"permission_id": ask_id},
            answer=None,
        )

    # -- the facade -----------------------------------------------------------------------------------------

    async def create(
        self,
        session_id: str | None,
        request: CreateSession,
        receipt: Callable[[SessionInfo], Receipt] | None = None,
    ) -> SessionInfo:
        if self.gate is not None:
            await self.gate.wait()
        if self.failure is not None:
            failure, self.failure = self.failure, None
            raise failure
        self.agents.check(request.agent or "mock")
        session_id = session_id or new_id("sess_")
        if session_id in self.infos:
            raise SessionExists(f"There is a session {session_id!r} already.", sessionId=session_id)
        if len(session_id) > 128:
            raise BadRequest("A session id has at most 128 characters.")
        self.add(session_id)
        self.effects.append(f"create {session_id}")
        return self._keep(receipt, self.infos[session_id])

    def _keep(self, receipt: Callable[[SessionInfo], Receipt] | None, info: SessionInfo) -> SessionInfo:
        if receipt is not None:
            kept = receipt(info)
            self.receipts[kept.key] = kept
        return info

    async def get(self, session_id: str) -> SessionInfo:
        if session_id not in self.infos:
            raise SessionNotFound(f"There is no session {session_id!r}.", sessionId=session_id)
        return self.infos[session_id]

    async def list(self, query: SessionQuery, page: str | None = None) -> tuple[list[SessionInfo], str | None]:
        if page is not None and not page.isdecimal():
            raise BadRequest("That is no page.", field="page")
        return list(self.infos.values())[: query.limit], None

    async def update(self, session_id: str, request: UpdateSession) -> SessionInfo:
        return await self.get(session_id)

    async def delete(self, session_id: str) -> None:
        await self.get(session_id)
        del self.infos[session_id]

    async def send(self, session_id: str, message: SendMessage, receipt: Callable[[str], Receipt] | None = None) -> str:
        if (await self.get(session_id)).ended:
            raise SessionHasEnded("This session has ended.", sessionId=session_id)
        item_id = new_id("itm_")
        self.effects.append(f"send {message.message}")
        if receipt is not None:
            kept = receipt(item_id)
            self.receipts[kept.key] = kept
        return item_id

    async def queue(self, session_id: str) -> Sequence[QueuedMessage]:
        await self.get(session_id)
        return []

    async def stream_turn(
        self, session_id: str, message: SendMessage, receipt: Callable[[str], Receipt] | None = None, *, raw: bool
    ) -> AsyncIterator[EventChunk | None]:
        return await self.turn(session_id, await self.send(session_id, message, receipt), raw=raw)

    async def turn(self, session_id: str, item_id: str, *, raw: bool) -> AsyncIterator[EventChunk | None]:
        return self._tail(chunks(self.bodies[session_id], 0), ends=True)

    async def cancel(self, session_id: str) -> bool:
        await self.get(session_id)
        self.effects.append("cancel")
        return False

    async def cancel_subagent(self, session_id: str, item_id: str) -> bool:
        await self.get(session_id)
        self.effects.append(f"cancel {item_id}")
        return True

    async def terminate(self, session_id: str) -> None:
        self.infos[session_id] = msgspec.structs.replace(await self.get(session_id), ended=True, status="ended")

    async def database_bytes(self) -> int:
        return 4096

    async def asks(self, session_id: str | None, *, pending: bool) -> "list[AskInfo]":
        if session_id is not None:
            await self.get(session_id)
        return [ask for ask in self.open_asks.values() if session_id in (None, ask.session_id)]

    async def answer(self, session_id: str, ask_id: str, answer: Answer) -> None:
        await self.get(session_id)
        ask = self.open_asks.get(ask_id)
        if ask is None:
            raise AskNotFound(f"There is no ask {ask_id!r}.", askId=ask_id)
        if not ask.pending:
            raise AskClosed("It was answered before.", firstAnswer=ask.answer)
        if not isinstance(answer, PermissionAnswer):
            raise BadRequest("That asks for a permission.")
        given = msgspec.to_builtins(answer)
        self.open_asks[ask_id] = msgspec.structs.replace(ask, pending=False, answer=given)

    async def fork(
        self, session_id: str, request: ForkSession, receipt: Callable[[SessionInfo], Receipt] | None = None
    ) -> SessionInfo:
        await self.get(session_id)
        return await self.create(request.session_id, CreateSession(agent=request.agent), receipt)

    async def events(self, session_id: str, request: EventsRequest) -> JoinedPage:
        await self._at(session_id, request.after, request.types)
        bodies = self.bodies[session_id][request.after :]
        head = len(self.bodies[session_id])
        return JoinedPage(b",".join(bodies[: request.limit]), len(bodies) > request.limit, head, 0)

    async def frames(self, session_id: str, *, after: int, limit: int) -> "tuple[list[FrameInfo], bool]":
        await self.get(session_id)
        frame = FrameInfo(number=1, time="2025-01-01T00:00:00Z", direction="to_agent", sequences=[1], body={"a": 1})
        return [frame], False

    async def tail(
        self, session_id: str, *, after: int, types: Sequence[str], raw: bool
    ) -> AsyncIterator[EventChunk | None]:
        info = await self._at(session_id, after, types)
        return self._tail(chunks(self.bodies[session_id], after), ends=info.ended)

    async def feed(self, *, after: str | None, types: Sequence[str], raw: bool) -> AsyncIterator[EventChunk | None]:
        if after is not None and not after.replace(".", "", 1).isdecimal():
            raise BadRequest("That is no position.", field="Last-Event-ID")
        check_types(types)
        return self._tail([], ends=False)

    async def search(self, text: str, *, session_id: str | None, limit: int) -> "list[SearchHit]":
        if session_id is not None:
            await self.get(session_id)
        return []

    async def export(self, session_id: str, format: str) -> AsyncIterator[bytes]:
        await self.get(session_id)
        return _exported(format)

    async def directory(self, session_id: str) -> Path:
        await self.get(session_id)
        return self.root

    def live(self) -> int:
        return 0

    async def tools(self, session_id: str) -> "list[CustomTool]":
        await self.get(session_id)
        return [CustomTool(name="get_weather")]

    def tools_token(self, session_id: str) -> str:
        return f"tools of {session_id}"

    async def call_tool(self, session_id: str, name: str, input: Json) -> ToolAnswer:
        await self.get(session_id)
        return ToolAnswer(output=f"{name} of {input}")

    async def receipt(self, key: str) -> Receipt | None:
        return self.receipts.get(key)

    async def keep_receipt(self, receipt: Receipt) -> None:
        self.receipts[receipt.key] = receipt

    async def _at(self, session_id: str, after: int, types: Sequence[str]) -> SessionInfo:
        info = await self.get(session_id)
        if after > info.event_count:
            raise OffsetOutOfRange("That is beyond the head.", head=info.event_count)
        check_types(types)
        return info

    def _tail(self, replay: "list[EventChunk]", *, ends: bool) -> FakeTail:
        tail = FakeTail(replay)
        if ends or not self.endless:
            tail.feed.close()
        self.tails.append(tail)
        return tail


def check_types(types: Sequence[str]) -> None:
    for name in types:
        if name not in TYPE_NUMBERS:
            raise BadRequest(f"There is no event type {name!r}.", field="types")


def event(session_id: str, sequence: int) -> bytes:
    return msgspec.json.encode(
        {
            "event_id": f"evt_{sequence}",
            "sequence": sequence,
            "time": "2025-01-01T00:00:00.000000Z",
            "session_id": session_id,
            "native_session_id": None,
            "source": "daemon",
            "synthetic": True,
            "type": "session.updated",
            "data": {"title": "ä title"},
            "raw": None,
        }
    )


def chunks(bodies: "list[bytes]", after: int) -> "list[EventChunk]":
    return [EventChunk(1, [StoredEvent(sequence, 1, body)]) for sequence, body in enumerate(bodies[after:], after + 1)]


async def _exported(format: str) -> AsyncIterator[bytes]:
    yield f"exported as {format}".encode()
