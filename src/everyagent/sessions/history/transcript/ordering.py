"""Puts the entries of a transcript into the order in which things began, whenever they were completed. Pure."""

from collections.abc import Iterable, Iterator

from everyagent.sessions.history.transcript.entries import AnyEntry


class Places:
    """Entries wait here for those that began before them: for the rest of a turn at most."""

    def __init__(self) -> None:
        self._places: dict[str, list[AnyEntry] | None] = {}
        self._loose = 0

    def keep(self, key: str) -> None:
        """Something begins here, whose entries come later."""
        self._places.setdefault(key, None)

    def fill(self, key: str, entries: Iterable[AnyEntry]) -> None:
        """Complete the entry that began under this key. Without a beginning, it comes last."""
        self._places[key] = list(entries)

    def add(self, entries: Iterable[AnyEntry]) -> None:
        """Complete without a beginning."""
        self._loose += 1
        self.fill(f"#{self._loose}", entries)

    def ready(self) -> Iterator[AnyEntry]:
        """Removes and returns the entries that wait for nothing any more."""
        while self._places:
            first = next(iter(self._places))
            if self._places[first] is None:
                return
            yield from self._places.pop(first) or ()

    def rest(self) -> Iterator[AnyEntry]:
        """Everything else; what never was complete is left out."""
        for entries in self._places.values():
            yield from entries or ()
        self._places.clear()
