"""Reads Codex's own record of a resumed thread after a turn, for calls that the app-server sent no item for.

Threads that were started, not resumed, report such calls themselves. Blocking.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from everyagent.agents.codex.protocol.wire_items import ModelItem
from everyagent.runtime.framing import LineSplitter

READ_SIZE = 1024 * 1024
#: A turn that was stopped at once may not be written yet; after so many turns without a row it is another file.
EMPTY_TURNS = 3
#: A longer row is skipped.
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
    """Starts at the end of the file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = LineSplitter(ROW_LIMIT)
        self._position = path.stat().st_size
        self._empty = 0

    def calls_without_item(self, has_item: Callable[[str], bool]) -> list[Recorded]:
        """New rows about calls that have no item. Raises `OSError`, or `ValueError` if it is no record."""
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
                    if item and item.call_id and not has_item(item.call_id):
                        found.append(Recorded(line.body, item))
        if self._empty >= EMPTY_TURNS:
            raise ValueError("nothing is added to it any more")
        return found
