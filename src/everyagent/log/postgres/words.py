"""Splits texts into words as SQLite's `unicode61 remove_diacritics 2` does, for PostgreSQL's full-text index."""

import re
import unicodedata
from collections.abc import Iterator
from typing import NamedTuple

_WORD = re.compile(r"(?:[^\W_]|[\u0300-\u036f])+")
#: PostgreSQL's limits: the longest word, and the size of all words of a text. Words beyond it are not found.
_WORD_BYTES = 2000
_ALL_BYTES = 500_000
_LAST_POSITION = 16383
#: PostgreSQL keeps this many places of a word.
_PLACES = 255


class Word(NamedTuple):
    """`text` is folded; `start` and `end` are its place in the original."""

    text: str
    start: int
    end: int


def words(text: str) -> Iterator[Word]:
    for match in _WORD.finditer(text):
        folded = _fold(match[0])
        if folded:
            yield Word(folded, match.start(), match.end())


def tsvector(text: str) -> str:
    """The words of a text with their places. Words have letters and digits only, so nothing is quoted."""
    places: dict[str, list[str]] = {}
    size = 0
    for number, word in enumerate(words(text), 1):
        found = places.get(word.text)
        if found is None:
            size += len(word.text.encode()) + 16
            if size > _ALL_BYTES:
                break
            found = places[word.text] = []
        if len(found) < _PLACES:
            size += 2
            found.append(str(min(number, _LAST_POSITION)))
    return " ".join(f"{word}:{','.join(found)}" for word, found in places.items())


def tsquery(text: str) -> str:
    """Every word of the query; one with punctuation inside is a phrase. The last may be the start of a word."""
    phrases = [[word.text for word in words(part)] for part in text.split()]
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        return ""
    phrases[-1][-1] += ":*"
    return " & ".join(" <-> ".join(phrase) for phrase in phrases)


def _fold(word: str) -> str:
    if word.isascii():
        return word.lower()[:_WORD_BYTES]
    bare = "".join(c for c in unicodedata.normalize("NFD", word) if unicodedata.category(c) != "Mn")
    folded = "".join(map(_fold_letter, unicodedata.normalize("NFC", bare)))
    return folded.encode()[:_WORD_BYTES].decode("utf-8", "ignore")


def _fold_letter(letter: str) -> str:
    folded = letter.casefold()
    return folded if len(folded) == 1 else letter
