"""Exports the events as they are stored, one a line."""

from collections.abc import Iterable, Iterator

from everyagent.model.sessions import SessionInfo


class JsonLines:
    media_type: str = "application/x-ndjson"
    types: frozenset[str] = frozenset()

    def opening(self) -> bytes:
        return b""

    def event(self, body: bytes) -> bytes:
        return body + b"\n"

    def closing(self) -> bytes:
        return b""


def export(_info: SessionInfo, bodies: Iterable[bytes]) -> Iterator[bytes]:
    lines = JsonLines()
    return (lines.event(body) for body in bodies)
