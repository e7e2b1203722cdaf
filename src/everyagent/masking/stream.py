"""Masks text that arrives in pieces: holds back an end that may be the beginning of a secret."""

from bisect import bisect_left
from collections.abc import Collection

from everyagent.masking.masker import Masker


class Beginnings:
    """Finds an end of a text that is the beginning of one of the `words`, and shorter than it."""

    def __init__(self, words: Collection[str]) -> None:
        self._words = sorted(words)
        self._longest = max(map(len, self._words), default=0)
        self._pairs = {word[:2] for word in self._words}
        self._firsts = {word[0] for word in self._words}

    def find(self, text: str, start: int) -> int:
        """The start of the longest such end, at `start` or after it; the text's length if there is none."""
        last = len(text) - 1
        for at in range(max(start, last + 2 - self._longest), last):
            if text[at : at + 2] in self._pairs and self._begins(text[at:]):
                return at
        return last if last >= start and text[last] in self._firsts else last + 1

    def _begins(self, end: str) -> bool:
        at = bisect_left(self._words, end)
        # A word that equals the end is not longer than it, but the next one may be.
        while at < len(self._words) and self._words[at] == end:
            at += 1
        return at < len(self._words) and self._words[at].startswith(end)


class MaskedStream:
    """One text in pieces. The pieces that `feed` and `flush` return, joined, are the whole text masked."""

    __slots__ = ("_beginnings", "_held", "_masker")

    def __init__(self, masker: Masker, beginnings: Beginnings) -> None:
        self._masker = masker
        self._beginnings = beginnings
        self._held = ""

    def feed(self, piece: str) -> str:
        text, at, shown = self._held + piece, 0, list[str]()
        suspect = self._masker.suspects(text.encode("utf-8", "surrogatepass"))
        while True:
            held = self._beginnings.find(text, at)
            found = self._masker.search(text, at) if suspect else None
            if found is None or found[0] >= held:
                break
            begin, end, marker = found
            shown += (text[at:begin], marker)
            at = end
        shown.append(text[at:held])
        self._held = text[held:]
        return "".join(shown)

    def flush(self) -> str:
        """The held end: no more pieces follow."""
        held, self._held = self._held, ""
        return self._masker.mask_text(held)
