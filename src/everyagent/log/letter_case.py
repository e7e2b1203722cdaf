"""Case-insensitive text search: patterns that match every upper and lower case form of a text.

They are to be matched against text in which ASCII letters are in lower case. Each letter stands for one letter: `ß` is
found as `ẞ`, but not as `SS`.
"""

from collections import defaultdict
from functools import cache

#: All letters that have a case are below this code point.
_END_OF_CASES = 0x20000


def glob(text: str) -> str:
    """For SQLite's GLOB."""
    return "".join(map(_glob_letter, text))


def regex(text: str) -> str:
    """For PostgreSQL's `~`."""
    return "".join(map(_regex_letter, text))


def _glob_letter(character: str) -> str:
    if character.isascii():
        return f"[{character}]" if character in "*?[" else character.lower()
    return _any_case(character)


def _regex_letter(character: str) -> str:
    if character.isascii():
        return character.lower() if character.isalnum() or character == " " else f"\\{character}"
    return _any_case(character)


def _any_case(character: str) -> str:
    cases = _cases().get(character.casefold(), "")
    return f"[{cases}]" if cases else character


@cache
def _cases() -> dict[str, str]:
    """The letters beyond ASCII that differ in case alone, by their case folding."""
    cases: defaultdict[str, str] = defaultdict(str)
    for character in map(chr, range(0x80, _END_OF_CASES)):
        cases[character.casefold()] += character
    return {folded: characters for folded, characters in cases.items() if len(characters) > 1}
