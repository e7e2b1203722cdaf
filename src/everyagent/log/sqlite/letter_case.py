"""Case-insensitive text search: GLOB patterns that match every upper and lower case form of a text."""

from collections import defaultdict
from functools import cache

#: All letters that have a case are below this code point.
_END_OF_CASES = 0x20000


def any_case(text: str) -> str:
    """A GLOB pattern for a text in any case, to be matched against `lower(…)`, which changes ASCII letters only.

    Each letter stands for one letter: `ß` is found as `ẞ`, but not as `SS`.
    """
    return "".join(map(_letter, text))


def _letter(character: str) -> str:
    if character.isascii():
        return f"[{character}]" if character in "*?[" else character.lower()
    cases = _cases().get(character.casefold(), "")
    return f"[{cases}]" if cases else character


@cache
def _cases() -> dict[str, str]:
    """The letters beyond ASCII that differ in case alone, by their case folding."""
    cases: defaultdict[str, str] = defaultdict(str)
    for character in map(chr, range(0x80, _END_OF_CASES)):
        cases[character.casefold()] += character
    return {folded: characters for folded, characters in cases.items() if len(characters) > 1}
