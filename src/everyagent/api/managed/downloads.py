"""A file's bytes, read piece by piece as the client takes them."""

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO

_PIECE = 1 << 20


async def pieces(file: BinaryIO) -> AsyncIterator[bytes]:
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece
