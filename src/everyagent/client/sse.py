"""Parses server-sent events from chunks of bytes. Does no I/O; both clients feed it."""

from typing import NamedTuple


class SseMessage(NamedTuple):
    """`id` is the latest one in the stream, which may be that of an earlier message."""

    id: str | None
    event: str
    data: bytes


class SseParser:
    """The parser of one stream. Holds one unfinished message; a message that the stream's end cuts off is dropped."""

    def __init__(self) -> None:
        self._unfinished: list[bytes] = []
        self._after_cr = False
        self._id: str | None = None
        self._event = ""
        self._data: list[bytes] = []

    def feed(self, chunk: bytes) -> list[SseMessage]:
        """The messages that this chunk completes."""
        messages: list[SseMessage] = []
        for line in self._lines(chunk):
            if not line:
                if self._data:
                    messages.append(SseMessage(self._id, self._event or "message", b"\n".join(self._data)))
                self._event, self._data = "", []
                continue
            name, _, value = line.partition(b":")
            if value.startswith(b" "):
                value = value[1:]
            match name:
                case b"data":
                    self._data.append(value)
                case b"id" if b"\0" not in value:
                    self._id = value.decode(errors="replace")
                case b"event":
                    self._event = value.decode(errors="replace")
                case _:
                    continue
        return messages

    def _lines(self, chunk: bytes) -> list[bytes]:
        """The lines that this chunk completes, ended by LF, CR or CRLF, even if a CRLF is split between chunks."""
        if not chunk:
            return []
        if self._after_cr and chunk.startswith(b"\n"):
            chunk = chunk[1:]
        self._after_cr = chunk.endswith(b"\r")
        if b"\r" in chunk:
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._unfinished.append(chunk)
        if b"\n" not in chunk:
            return []
        lines = b"".join(self._unfinished).split(b"\n")
        self._unfinished = [lines.pop()]
        return lines
