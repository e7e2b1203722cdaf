"""Writes a session's native frames as a test case: the folder that the golden tests of the adapters read."""

import re
import socket
from collections.abc import Iterator
from pathlib import Path

import msgspec

from everyagent.cli.sessions.case_exchanges import CaseExchange, ProcessEnd, exchanges
from everyagent.client import Client
from everyagent.model.events import Error
from everyagent.model.sessions import FrameInfo, SessionInfo

FRAMES = "frames.jsonl"
_PAGE = 500
#: What tokens of well-known services look like. Secrets that the daemon knew are masked in the log already.
_TOKENS = re.compile(
    r"\b(?:sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,}"
    r"|ea_[\w-]{20,}|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,})|(?<=[Bb]earer )[\w.~+/=-]{16,}"
)
_MAIL = re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)+\b")


def write_case(client: Client, session_id: str, folder: Path) -> int:
    """Write the case and return the number of its frames. The folder may exist, but has no other case in it."""
    info = client.session(session_id)
    folder.mkdir(parents=True, exist_ok=True)
    scrub = Scrubber(info)
    count = 0
    with (folder / FRAMES).open("x", encoding="utf-8") as file:
        frames, ends = _frames(client, session_id), _ends(client, session_id)
        for each in exchanges(info.agent, info.permission_mode, frames, ends):
            file.write(scrub.text(_line(each)) + "\n")
            count += 1
    return count


class Scrubber:
    """Replaces local paths and names, mail addresses and tokens, in text that is JSON."""

    def __init__(self, info: SessionInfo) -> None:
        places = [(info.directory or "", "/workspace"), (str(Path.home()), "/home/agent")]
        longest = sorted((each for each in places if len(each[0]) > 1), key=lambda place: -len(place[0]))
        self._places = [(msgspec.json.encode(local).decode()[1:-1], neutral) for local, neutral in longest]
        host = socket.gethostname()
        self._host = re.compile(rf"\b{re.escape(host)}\b") if len(host) > 3 and host != "localhost" else None

    def text(self, text: str) -> str:
        for local, neutral in self._places:
            text = text.replace(local, neutral)
        if self._host:
            text = self._host.sub("host", text)
        return _MAIL.sub("user@example.org", _TOKENS.sub("[secret token]", text))


def _frames(client: Client, session_id: str) -> Iterator[FrameInfo]:
    offset, more = 0, True
    while more:
        page = client.frames(session_id, offset=offset, limit=_PAGE)
        more = page.has_more
        for frame in page.frames:
            offset = frame.number
            yield frame


def _ends(client: Client, session_id: str) -> list[ProcessEnd]:
    """The ends of processes that were errors."""
    events = client.events(session_id, follow=False, types=["error"])
    return [
        ProcessEnd(event.sequence, event.data)
        for event in events
        if isinstance(event.data, Error) and event.data.exit_code is not None
    ]


def _line(exchange: CaseExchange) -> str:
    return msgspec.json.encode({"dir": exchange.direction, "msg": exchange.message}).decode()
