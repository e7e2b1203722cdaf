"""Splits bytes into lines of limited length. Used by `process.py` and `stderr.py`."""

from msgspec import Struct

LINE_LIMIT = 64 * 1024 * 1024


class Line(Struct, frozen=True, gc=False):
    """A line without its line end. `cut` is its whole length if it was longer than the limit, else 0."""

    body: bytes
    cut: int = 0


class LineSplitter:
    """Holds at most `limit` bytes of an unfinished line.

    The lines do not depend on how the bytes were split into chunks.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._held = bytearray()
        self._length = 0  # of the unfinished line, including bytes over the limit

    @property
    def held(self) -> int:
        return len(self._held)

    def feed(self, chunk: bytes) -> list[Line]:
        """The lines that this chunk completes."""
        pieces = chunk.split(b"\n")
        rest = pieces.pop()
        lines: list[Line] = []
        if pieces:
            if self._length:
                self._hold(pieces[0])
                lines.append(self._release())
                del pieces[0]
            if b"\r" in chunk or len(chunk) > self._limit:
                lines += [self._line(piece) for piece in pieces]
            else:
                lines += map(Line, pieces)
        if rest:
            self._hold(rest)
        return lines

    def finish(self) -> list[Line]:
        """The last line, if the stream did not end with a newline."""
        return [self._release()] if self._length else []

    def _hold(self, piece: bytes) -> None:
        room = self._limit - len(self._held)
        self._held += piece if len(piece) <= room else piece[:room]
        self._length += len(piece)

    def _release(self) -> Line:
        body, length = bytes(self._held), self._length
        self._held, self._length = bytearray(), 0
        return Line(body, length) if length > len(body) else Line(body.removesuffix(b"\r"))

    def _line(self, piece: bytes) -> Line:
        if len(piece) > self._limit:
            return Line(piece[: self._limit], len(piece))
        return Line(piece.removesuffix(b"\r"))
