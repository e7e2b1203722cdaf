"""What a scripted Amp server lets its agent do: replies, and which message each is for. Played by `amp_thread.py`."""

import secrets
import string
import threading
from collections.abc import Mapping

from msgspec import Struct, field

_LETTERS = string.ascii_letters + string.digits


def amp_id(prefix: str) -> str:
    """Amp's program checks the shape of ids."""
    return f"{prefix}-{''.join(secrets.choice(_LETTERS) for _ in range(22))}"


class Call(Struct, frozen=True):
    tool: str
    input: Mapping[str, object]


class Reply(Struct, kw_only=True):
    """`when` must be in what was said since the agent's last message. `held` waits for `release` before it is said.

    `retries`: the model is asked a second time; `drops`: the connection is cut before it is said. `aside` is what a
    sub-agent says before it, `errand` what that one calls. A reply with `times` is given that often.
    """

    thought: str = ""
    text: str = ""
    calls: list[Call] = []
    when: str = ""
    failure: str | None = None
    cut_short: bool = False
    held: bool = False
    retries: bool = False
    drops: bool = False
    aside: str = ""
    errand: Call | None = None
    release: threading.Event = field(default_factory=threading.Event)
    times: int = 1

    @property
    def blocks(self) -> list[dict[str, object]]:
        """The message as Amp's server tells it; every call gets its id here."""
        blocks: list[dict[str, object]] = []
        if self.thought:
            blocks.append({"type": "thinking", "thinking": self.thought, "signature": "c2NyaXB0ZWQ="})
        if self.text:
            blocks.append({"type": "text", "text": self.text})
        for call in self.calls:
            use = {"type": "tool_use", "id": amp_id("TU"), "name": call.tool, "input": dict(call.input)}
            blocks.append({**use, "complete": True})
        return blocks


def say(text: str, *, when: str = "", held: bool = False) -> Reply:
    return Reply(text=text, when=when, held=held)


def think(thought: str, text: str, *, when: str = "") -> Reply:
    return Reply(thought=thought, text=text, when=when)


def call(tool: str, input: Mapping[str, object], *, text: str = "", when: str = "") -> Reply:
    """The agent calls one tool, perhaps with a word before."""
    return calls((tool, input), text=text, when=when)


def calls(*tools: tuple[str, Mapping[str, object]], text: str = "", when: str = "") -> Reply:
    return Reply(calls=[Call(tool, input) for tool, input in tools], text=text, when=when)


def fail(message: str, *, when: str = "") -> Reply:
    return Reply(failure=message, when=when)


class Script:
    """Replies in order; each inference takes the first that fits. Thread-safe."""

    def __init__(self) -> None:
        self._replies: list[Reply] = []
        self._all: list[Reply] = []
        self._lock = threading.Lock()

    def add(self, *replies: Reply) -> None:
        with self._lock:
            self._replies += replies
            self._all += replies

    def take(self, news: str) -> Reply:
        with self._lock:
            for reply in self._replies:
                if reply.when in news:
                    reply.times -= 1
                    if reply.times <= 0:
                        self._replies.remove(reply)
                    return reply
        return say("Nothing more was scripted.")

    def release_all(self) -> None:
        with self._lock:
            for reply in self._all:
                reply.release.set()
