"""Asks OpenCode for all it knows of a session, where its event stream has told too little."""

from typing import TypeVar
from urllib.parse import quote

from msgspec import Struct

from everyagent.agents.adapter import Frame
from everyagent.agents.opencode.decode.decoder import Snapshot
from everyagent.agents.opencode.driver.server import Resident
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.rest import Rest, read
from everyagent.agents.opencode.protocol.routing import Router

#: So many messages are asked for at once.
PAGE = 100
#: So much is read of a turn, with its sub-agents; where it has more, that is told. It is less than what `Messages`
#: remembers, so that nothing is told twice.
MOST_MESSAGES = 4000
MOST_BYTES = 128 * 1024 * 1024
T = TypeVar("T")


class Found(Struct, frozen=True):
    """What was answered, and what it adds up to."""

    frames: list[Frame]
    snapshot: Snapshot


async def look(rest: Rest, router: Router[Resident], resident: Resident, session: str, since: float) -> Found:
    """All that is not older than `since`, in milliseconds since 1970. Raises `AgentFailed`."""
    return await _Look(rest, router, resident, session, since).found()


class _Look:
    """What is asked first is known best: a session that was idle then has told all in what is asked after."""

    def __init__(self, rest: Rest, router: Router[Resident], resident: Resident, session: str, since: float) -> None:
        self._rest = rest
        self._router = router
        self._resident = resident
        self._session = session
        self._since = since
        self._frames: list[Frame] = []
        self._messages: list[wire.Delivered] = []
        self._bytes = 0
        self._cut = False

    async def found(self) -> Found:
        statuses = await self._get("/session/status", dict[str, wire.Status])
        for child in await self._get(f"/session/{self._session}/children", list[wire.Session]):
            self._router.adopt(child.id, self._session)
        sessions = self._router.sessions(self._resident)
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
        return Found(self._frames, snapshot)

    async def _read_back(self, session: str) -> None:
        """Its messages, page by page from the newest, to where an earlier turn has told them."""
        pages: list[list[wire.Delivered]] = []
        path = f"/session/{session}/message?limit={PAGE}"
        before: str | None = ""
        while before is not None:
            if self._full(sum(map(len, pages))):
                self._cut = True
                break
            answer, before = await self._rest.page(
                f"{path}&before={quote(before)}" if before else path, self._resident.directory
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
        answer = await self._rest.ask("GET", path, self._resident.directory)
        self._frames.append(Frame("from_agent", answer))
        return read(answer, kind)
