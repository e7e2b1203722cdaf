"""Fetches everything that OpenCode has of a session's turn: messages, permissions, questions, status."""

from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from everyagent.agents.adapter import Frame
from everyagent.agents.opencode.decode.turns import Snapshot
from everyagent.agents.opencode.driver.server import OpencodeServerSession
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.rest import Rest, read
from everyagent.agents.opencode.protocol.routing import SessionRouter

#: Messages of one request.
PAGE = 100
#: Limits of what is read of a turn with its sub-agents; a turn that has more is reported. They are lower than what
#: `SessionMessages` remembers, so that nothing is repeated.
MOST_MESSAGES = 4000
MOST_BYTES = 128 * 1024 * 1024
T = TypeVar("T")


class SnapshotResult(Struct, frozen=True):
    """The responses as frames, and the snapshot made from them."""

    frames: list[Frame]
    snapshot: Snapshot


async def fetch_snapshot(
    rest: Rest, router: SessionRouter[OpencodeServerSession], owner: OpencodeServerSession, session: str, since: float
) -> SnapshotResult:
    """Everything that is not older than `since`, in milliseconds since 1970. Raises `AgentFailed`."""
    return await _Fetch(rest, router, owner, session, since).result()


class _Fetch:
    """The status is fetched first: the later answers of a session that was idle then are complete."""

    def __init__(
        self,
        rest: Rest,
        router: SessionRouter[OpencodeServerSession],
        owner: OpencodeServerSession,
        session: str,
        since: float,
    ) -> None:
        self._rest = rest
        self._router = router
        self._owner = owner
        self._session = session
        self._since = since
        self._frames: list[Frame] = []
        self._messages: list[wire.Delivered] = []
        self._bytes = 0
        self._cut = False

    async def result(self) -> SnapshotResult:
        statuses = await self._get("/session/status", dict[str, wire.SessionStatus])
        for child in await self._get(f"/session/{self._session}/children", list[wire.OpencodeSessionInfo]):
            self._router.adopt(child.id, self._session)
        sessions = self._router.sessions(self._owner)
        for each in sorted(sessions, key=lambda each: each != self._session):
            await self._read_back(each)
        permissions = await self._get("/permission", list[wire.PermissionAsked])
        questions = await self._get("/question", list[wire.QuestionAsked])
        snapshot = Snapshot(
            messages=self._messages,
            permissions=[ask for ask in permissions if ask.session in sessions],
            questions=[ask for ask in questions if ask.session in sessions],
            busy=self._session in statuses,
            cut=self._cut,
        )
        return SnapshotResult(self._frames, snapshot)

    async def _read_back(self, session: str) -> None:
        """The session's messages, page by page from the newest, down to those of an earlier turn."""
        pages: list[list[wire.Delivered]] = []
        path = f"/session/{session}/message?limit={PAGE}"
        before: str | None = ""
        while before is not None:
            if self._full(sum(map(len, pages))):
                self._cut = True
                break
            answer, before = await self._rest.page(
                f"{path}&before={quote(before)}" if before else path, self._owner.directory
            )
            self._bytes += len(answer)
            self._frames.append(Frame("from_agent", answer))
            page = read(answer, list[wire.Delivered])
            pages.append(page)
            if any(delivered.info.time.created < self._since for delivered in page):
                break
        self._messages += [delivered for page in reversed(pages) for delivered in page]

    def _full(self, reading: int) -> bool:
        return len(self._messages) + reading >= MOST_MESSAGES or self._bytes >= MOST_BYTES

    async def _get(self, path: str, kind: type[T]) -> T:
        answer = await self._rest.ask("GET", path, self._owner.directory)
        self._frames.append(Frame("from_agent", answer))
        return read(answer, kind)
