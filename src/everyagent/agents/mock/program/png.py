"""A small real picture."""

import struct
import zlib


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def gradient(size: int) -> bytes:
    """A square PNG of `size` pixels, red growing to the right and green downwards."""
    step = 255 // max(1, size - 1)
    rows = b"".join(b"\0" + b"".join(bytes((x * step, y * step, 128)) for x in range(size)) for y in range(size))
    header = struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", zlib.compress(rows)) + _chunk(b"IEND", b"")
