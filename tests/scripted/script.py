"""Answers of a scripted model, in order, and which request each is for. Every API's script is one of these."""

import threading
from typing import Generic, Protocol, TypeVar


class Asked(Protocol):
    """A request to the model."""

    @property
    def news(self) -> str:
        """What was said since the model's last words."""
        ...


class Answered(Protocol):
    """`when` must be in the news of the request it is for. It is given `times` times; `release` lets it go on."""

    when: str
    times: int
    release: threading.Event


Q = TypeVar("Q", bound=Asked)
A = TypeVar("A", bound=Answered)


class Script(Generic[Q, A]):
    """Each request takes the first answer that fits it, else `otherwise`. Thread-safe."""

    def __init__(self, otherwise: A) -> None:
        self._otherwise = otherwise
        self._waiting: list[A] = []
        self._all: list[A] = []
        self._lock = threading.Lock()
        self.requests: list[Q] = []

    def add(self, *answers: A) -> None:
        with self._lock:
            self._waiting += answers
            self._all += answers

    def take(self, request: Q) -> A:
        with self._lock:
            self.requests.append(request)
            for answer in self._waiting:
                if answer.when in request.news:
                    answer.times -= 1
                    if answer.times <= 0:
                        self._waiting.remove(answer)
                    return answer
        return self._otherwise

    def release_all(self) -> None:
        with self._lock:
            for answer in self._all:
                answer.release.set()

    def forget(self) -> None:
        """As if it were new; what is held goes on."""
        self.release_all()
        with self._lock:
            self._waiting.clear()
            self._all.clear()
            self.requests.clear()
