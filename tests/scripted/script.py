"""The queue of replies that a scripted server gives, and the choice of the reply for each request."""

import threading
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from msgspec import Struct, field

DEFAULT_TEXT = "Nothing more was scripted."


class ScriptedRequest(Protocol):
    @property
    def new_text(self) -> str:
        """The text of all messages since the model's last one."""
        ...


class ScriptedReply(Struct, kw_only=True):
    """Answers `times` requests whose new text contains `when`. A reply that is held waits for `release`."""

    when: str = ""
    times: int = 1
    release: threading.Event = field(default_factory=threading.Event)


Q = TypeVar("Q", bound=ScriptedRequest)
R = TypeVar("R", bound=ScriptedReply)


class Script(Generic[Q, R]):
    """Each request takes the first reply that fits it, else `default`. Thread-safe."""

    def __init__(self, default: R) -> None:
        self._default = default
        self._waiting: list[R] = []
        self._all: list[R] = []
        self._lock = threading.Lock()
        self.requests: list[Q] = []

    def add(self, *replies: R) -> None:
        with self._lock:
            self._waiting += replies
            self._all += replies

    def take(self, request: Q) -> R:
        with self._lock:
            self.requests.append(request)
            for reply in self._waiting:
                if reply.when in request.new_text:
                    reply.times -= 1
                    if reply.times <= 0:
                        self._waiting.remove(reply)
                    return reply
        return self._default

    def release_all(self) -> None:
        with self._lock:
            for reply in self._all:
                reply.release.set()

    def forget(self) -> None:
        """Releases and removes all replies and requests."""
        self.release_all()
        with self._lock:
            self._waiting.clear()
            self._all.clear()
            self.requests.clear()


M = TypeVar("M")


def since_last(messages: Sequence[M], is_from_model: Callable[[M], bool]) -> Sequence[M]:
    """The messages after the model's last one."""
    for index in range(len(messages) - 1, -1, -1):
        if is_from_model(messages[index]):
            return messages[index + 1 :]
    return messages


def pieces(text: str, size: int) -> list[str]:
    """The text in parts of `size` characters, to be streamed as deltas."""
    return [text[at : at + size] for at in range(0, len(text), size)]
