"""The exchanges of a test case, as the golden tests of each adapter read them. Pure; used by `case.py`."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple, cast

from everyagent.model.events import Error
from everyagent.model.parts import Json
from everyagent.model.sessions import FrameInfo

_DIRECTIONS = {"from_agent": "out", "to_agent": "in"}


class CaseExchange(NamedTuple):
    """`new` is a start of the agent, `in` a message to it, `out` one from it, `text` a line that is no JSON.

    OpenCode answers requests with `back`. The process of Amp writes `err` and ends with `exit`.
    """

    direction: str
    message: Json


class ProcessEnd(NamedTuple):
    """The end of a process that an event of this number reports."""

    sequence: int
    error: Error


def exchanges(
    agent: str, permission_mode: str, frames: Iterable[FrameInfo], ends: Iterable[ProcessEnd] = ()
) -> Iterator[CaseExchange]:
    used = (frame for frame in frames if frame.direction in _DIRECTIONS)
    match agent:
        case "opencode":
            return _requests(used)
        case "amp":
            return _processes(used, list(ends))
        case _:
            return _messages(permission_mode, used)


def _messages(permission_mode: str, frames: Iterable[FrameInfo]) -> Iterator[CaseExchange]:
    """Lines in both directions, on a process that begins with a handshake."""
    new = CaseExchange("new", permission_mode)
    yield new
    started = False
    for frame in frames:
        direction = _DIRECTIONS[frame.direction]
        if direction == "in" and _is_handshake(frame.body):
            if started:
                yield new
            started = True
        yield CaseExchange("text" if direction == "out" and isinstance(frame.body, str) else direction, frame.body)


def _requests(frames: Iterable[FrameInfo]) -> Iterator[CaseExchange]:
    """Requests to a server, and events of it. An answer that was kept belongs to the request before it."""
    yield CaseExchange("new", {})
    asked: dict[str, Json] = {}
    opened = False
    for frame in frames:
        body = _object(frame.body)
        if frame.direction == "to_agent":
            asked = {name: body.get(name) for name in ("method", "path")}
            if _opens(asked):
                if opened:
                    yield CaseExchange("new", {})
                opened = True
            yield CaseExchange("in", frame.body)
        elif "type" in body and "properties" in body:
            yield CaseExchange("out", frame.body)
        elif asked:
            yield CaseExchange("back", {**asked, "status": 200, "body": frame.body})


def _processes(frames: Iterable[FrameInfo], ends: list[ProcessEnd]) -> Iterator[CaseExchange]:
    """A process for one or more turns: what it was sent first comes after its start."""
    sent: list[FrameInfo] = []
    for frame in frames:
        while ends and frame.sequences and frame.sequences[0] > ends[0].sequence:
            yield from _written(sent)
            yield from _ended(ends.pop(0).error)
            sent = []
        if frame.direction == "to_agent":
            sent.append(frame)
            continue
        if _object(frame.body).get("subtype") == "init":
            yield CaseExchange("new", None)
        yield from _written(sent)
        sent = []
        yield CaseExchange("out", frame.body)
    if sent and ends:
        yield CaseExchange("new", None)
    yield from _written(sent)
    for end in ends:
        yield from _ended(end.error)


def _written(frames: Iterable[FrameInfo]) -> Iterator[CaseExchange]:
    return (CaseExchange("in", frame.body) for frame in frames)


def _ended(error: Error) -> Iterator[CaseExchange]:
    if error.stderr and error.stderr.head:
        yield CaseExchange("err", error.stderr.head)
    yield CaseExchange("exit", error.exit_code)


def _is_handshake(body: Json) -> bool:
    message = _object(body)
    return message.get("method") == "initialize" or _object(message.get("request")).get("subtype") == "initialize"


def _opens(asked: dict[str, Json]) -> bool:
    """Whether a request creates a session, or looks for it after a start."""
    path = str(asked["path"]).strip("/").split("/")
    return (asked["method"], len(path)) in (("POST", 1), ("GET", 2)) and path[0] == "session"


def _object(body: Json) -> dict[str, Json]:
    return cast("dict[str, Json]", body) if isinstance(body, dict) else {}
