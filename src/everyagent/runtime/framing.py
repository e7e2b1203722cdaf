"""Splits bytes into lines of limited length. Used by `process.py` and `stderr.py`."""

from msgspec import Struct

LINE_LIMIT = 64 * 1024 * 1024
#: Of a line over the limit, only so much is kept: nothing can decode it, and it would be copied several times.
KEPT_BYTES = 1024 * 1024


class Line(Struct, frozen=True, gc=False):
    """A line without its line end. `cut` is its whole length if it was longer than the limit, else 0."""

    body: bytes
    cut: int = 0


class LineSplitter:
    """Holds at most `limit` bytes of an unfinished line, in blocks: one large buffer would be copied as it grows.

    The lines do not depend on how the bytes were split into chunks.
    """

    def __init__(self, limit: int = LINE_LIMIT) -> None:
        self._limit = limit
        self._blocks: list[bytearray] = []
        self._length = 0  # of the unfinished line, including bytes over the limit

    @property
    def held(self) -> int:
        return sum(map(len, self._blocks))

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
        room = self._limit - self._length
        self._length += len(piece)
        if room >= 0:
            if not self._blocks or len(self._blocks[-1]) >= KEPT_BYTES:
                self._blocks.append(bytearray())
            self._blocks[-1] += piece[:room]
        if self._length > self._limit:
            del self._blocks[1:]
            del self._blocks[0][KEPT_BYTES:]

    def _release(self) -> Line:
        body, length = b"".join(self._blocks), self._length
        self._blocks, self._length = [], 0
        return Line(body, length) if length > len(body) else Line(body.removesuffix(b"\r"))

    def _line(self, piece: bytes) -> Line:
        if len(piece) > self._limit:
            return Line(piece[: min(self._limit, KEPT_BYTES)], len(piece))
        return Line(piece.removesuffix(b"\r"))
