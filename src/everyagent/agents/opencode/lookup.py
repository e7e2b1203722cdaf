"""Asks OpenCode for all it knows of a session, where its event stream has told too little."""

from typing import TypeVar

from msgspec import Struct

from everyagent.agents.adapter import Frame
from everyagent.agents.opencode import wire
from everyagent.agents.opencode.decode import Snapshot
from everyagent.agents.opencode.rest import read
from everyagent.agents.opencode.server import OpencodeServer, Resident

#: A turn has fewer steps than this, as a rule; what is older stays untold.
MESSAGES = 200
T = TypeVar("T")


class Found(Struct, frozen=True):
    """What was answered, and what it adds up to."""

    frames: list[Frame]
    snapshot: Snapshot


async def look(server: OpencodeServer, resident: Resident, session: str) -> Found:
    """What is asked first is known best: a session that was idle then has told all in what is asked after.

    Raises `AgentFailed`.
    """
    frames: list[Frame] = []

    async def get(path: str, kind: type[T]) -> T:
        answer = await server.rest.ask("GET", path, resident.directory)
        frames.append(Frame("from_agent", answer))
        return read(answer, kind)

    statuses = await get("/session/status", dict[str, wire.Status])
    for child in await get(f"/session/{session}/children", list[wire.Session]):
        server.router.adopt(child.id, session)
    sessions = server.router.sessions(resident)
    messages: list[wire.Delivered] = []
    for each in sorted(sessions, key=lambda each: each != session):
        messages += await get(f"/session/{each}/message?limit={MESSAGES}", list[wire.Delivered])
    permissions = await get("/permission", list[wire.PermissionAsked])
    questions = await get("/question", list[wire.QuestionAsked])
    return Found(
        frames,
        Snapshot(
            messages=messages,
            permissions=[ask for ask in permissions if ask.session in sessions],
            questions=[ask for ask in questions if ask.session in sessions],
            busy=session in statuses,
        ),
    )
