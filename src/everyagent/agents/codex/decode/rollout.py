"""The record Codex keeps of a thread, read on after a turn for calls that its app-server told no item of.

Only needed for threads that were resumed: those that were started tell such calls themselves. Blocking.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.codex.protocol.wire import ModelItem
from everyagent.runtime.framing import LineSplitter

READ_SIZE = 1024 * 1024
#: A turn that was stopped at once may not be written yet; after so many without a row it is not this file.
EMPTY_TURNS = 3
#: Rows are as long as what the agent reads; of a longer one nothing is missed but itself.
ROW_LIMIT = 16 * 1024 * 1024


class Row(Struct, frozen=True):
    type: str
    payload: Raw = Raw(b"{}")


class Recorded(Struct, frozen=True):
    """A row that is about a call or its result."""

    body: bytes
    item: ModelItem


_rows = msgspec.json.Decoder(Row)
_items = msgspec.json.Decoder(ModelItem)


class Rollout:
    """Begins at the end of what is there."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = LineSplitter(ROW_LIMIT)
        self._position = path.stat().st_size
        self._empty = 0

    def untold(self, told: Callable[[str], bool]) -> list[Recorded]:
        """New rows about calls but those whose id is `told`. Raises `OSError`, or `ValueError` if it is no record."""
        found: list[Recorded] = []
        self._empty += 1
        with self._path.open("rb") as file:
            file.seek(self._position)
            while chunk := file.read(READ_SIZE):
                self._position += len(chunk)
                for line in self._lines.feed(chunk):
                    self._empty = 0
                    row = None if line.cut else _rows.decode(line.body)
                    item = _items.decode(row.payload) if row and row.type == "response_item" else None
                    if item and item.call_id and not told(item.call_id):
                        found.append(Recorded(line.body, item))
        if self._empty >= EMPTY_TURNS:
            raise ValueError("nothing is added to it any more")
        return found
