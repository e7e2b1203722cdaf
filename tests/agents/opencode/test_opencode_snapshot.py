"""Requests to OpenCode after its event stream lost events: page by page, back to the beginning of the turn."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from urllib.parse import parse_qs, urlsplit

import anyio
import msgspec
import pytest
from anyio.abc import ByteStream, SocketAttribute
from recorded_sessions import Session
from tests.agents.sequenced_session import violations

from everyagent.agents.adapter import Death, DecodedFrame
from everyagent.agents.opencode.decode import messages
from everyagent.agents.opencode.driver import snapshot
from everyagent.agents.opencode.driver.server import OpencodeServerSession
from everyagent.agents.opencode.driver.snapshot import SnapshotResult, fetch_snapshot
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import Rest
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.events import Error, ItemCompleted, TurnEnded
from everyagent.model.items import text_of

MAIN, HELPER = "ses_main", "ses_helper"
BEGAN = 1794770000000
MessageBody = dict[str, object]


def said_at(created: int, session: str = MAIN) -> MessageBody:
    """A message of the model that is over, with a word of its own."""
    id = f"msg_{session}_{created}"
    info = {"id": id, "sessionID": session, "role": "assistant", "finish": "stop"}
    text = {"type": "text", "id": f"prt_{id}", "messageID": id, "sessionID": session, "text": f"{session} {created}"}
    return {
        "info": {**info, "time": {"created": created, "completed": created}},
        "parts": [{**text, "time": {"start": created, "end": created}}],
    }


class Archive:
    """Answers as OpenCode does: the newest messages first, each page in order, with a way to the page before it."""

    def __init__(self, sessions: dict[str, list[MessageBody]]) -> None:
        self._sessions = sessions
        self.asked: list[str] = []
        self.busy = False

    async def __call__(self, stream: ByteStream) -> None:
        async with stream:
            try:
                while True:
                    await self._answer(stream)
            except (anyio.EndOfStream, anyio.BrokenResourceError):
                return

    async def _answer(self, stream: ByteStream) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += await stream.receive()
        target = head.split()[1].decode()
        self.asked.append(target)
        url = urlsplit(target)
        match url.path.split("/")[1:]:
            case ["session", "status"]:
                answer, older = ({MAIN: {"type": "busy"}} if self.busy else {}), None
            case ["session", id, "children"] if id == MAIN:
                answer, older = [{"id": each} for each in self._sessions if each != MAIN], None
            case ["session", id, "message"]:
                answer, older = self._page(self._sessions[id], parse_qs(url.query))
            case _:
                answer, older = [], None
        body = msgspec.json.encode(answer)
        cursor = f"x-next-cursor: {older}\r\n" if older else ""
        await stream.send(f"HTTP/1.1 200 OK\r\n{cursor}content-length: {len(body)}\r\n\r\n".encode() + body)

    def _page(
        self, kept: Sequence[MessageBody], query: dict[str, list[str]]
    ) -> tuple[Sequence[MessageBody], str | None]:
        end = int(query["before"][0].removeprefix("to/")) if "before" in query else len(kept)
        begin = max(0, end - int(query["limit"][0]))
        return kept[begin:end], f"to/{begin}" if begin else None


class Nobody:
    directory = "/work"

    def put(self, message: NativeEvent | DecodedFrame) -> None: ...

    async def room(self) -> None: ...

    def lose(self, death: Death) -> None: ...


@asynccontextmanager
async def served(archive: Archive) -> AsyncGenerator[Rest]:
    async with await anyio.create_tcp_listener(local_host="127.0.0.1") as listener, anyio.create_task_group() as tasks:
        tasks.start_soon(listener.serve, archive)
        rest = Rest(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}", "secret")
        yield rest
        await rest.close()
        tasks.cancel_scope.cancel()


async def looked(archive: Archive, *, busy: bool = False) -> SnapshotResult:
    archive.busy = busy
    async with served(archive) as rest:
        resident, router = Nobody(), SessionRouter[OpencodeServerSession]()
        router.own(MAIN, resident)
        return await fetch_snapshot(rest, router, resident, MAIN, BEGAN)


def caught_up(session: Session, found: SnapshotResult) -> Session:
    session.decoder.tear()
    for draft in session.decoder.catch_up(found.snapshot):
        session.draft(draft)
    return session


def prompted() -> Session:
    session = Session(MAIN)
    session.prompted()
    return session


def words(session: Session) -> list[str]:
    items = [event.data.item for event in session.events if isinstance(event.data, ItemCompleted)]
    return [text_of(item) for item in items if item.role == "assistant"]


def turn(count: int, session: str = MAIN) -> list[MessageBody]:
    return [said_at(BEGAN + number, session) for number in range(count)]


async def test_a_turn_of_many_pages_is_read_to_its_beginning_once() -> None:
    earlier = [said_at(BEGAN - number) for number in range(900, 0, -1)]
    archive = Archive({MAIN: [*earlier, *turn(730)]})
    found = await looked(archive)
    session = caught_up(prompted(), found)
    assert words(session) == [f"{MAIN} {BEGAN + number}" for number in range(730)]
    assert [event.data.stop_reason for event in session.events if isinstance(event.data, TurnEnded)] == ["end_turn"]
    assert len([path for path in archive.asked if "/message" in path]) == 8
    assert len(found.frames) == len(archive.asked)
    assert violations(session.events) == []


async def test_messages_from_before_the_stream_was_lost_are_not_repeated() -> None:
    whole, session = turn(450), prompted()
    caught_up(session, await looked(Archive({MAIN: whole[:250]}), busy=True))
    assert words(session)
    caught_up(session, await looked(Archive({MAIN: whole})))
    assert words(session) == [f"{MAIN} {BEGAN + number}" for number in range(450)]
    assert violations(session.events) == []


async def test_sub_agents_are_read_to_where_the_turn_began_too() -> None:
    found = await looked(Archive({MAIN: turn(3), HELPER: turn(410, HELPER)}))
    assert len(found.snapshot.messages) == 413
    assert not found.snapshot.cut


async def test_a_turn_beyond_the_limits_is_reported_and_its_newest_messages_are_kept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "MOST_MESSAGES", 400)
    session = caught_up(prompted(), await looked(Archive({MAIN: turn(730)})))
    assert words(session) == [f"{MAIN} {BEGAN + number}" for number in range(330, 730)]
    (error,) = [event.data for event in session.events if isinstance(event.data, Error)]
    assert "some older ones are missing here" in error.message


async def test_a_turn_that_is_read_whole_with_the_last_page_that_is_allowed_is_no_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(snapshot, "MOST_MESSAGES", 400)
    assert not (await looked(Archive({MAIN: turn(400)}))).snapshot.cut


def test_all_that_is_ever_read_is_remembered() -> None:
    assert snapshot.MOST_MESSAGES + snapshot.PAGE < messages.REMEMBERED
