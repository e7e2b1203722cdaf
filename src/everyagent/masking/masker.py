"""Replaces known secrets in bytes and text. A fast check comes first, because nearly nothing has a secret in it.

The check looks up every aligned 8 (or 4) bytes of the input in a set of all parts of that size of all secrets. A run of
15 (or 7) bytes always covers an aligned part, wherever it begins.
"""

import re
import sys
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from typing import cast

import msgspec

from everyagent.masking.forms import Form, forms_of

#: Sizes of the parts that are looked up.
_WIDE, _NARROW = 8, 4
#: A part at least so long is searched by itself, for a form that has no longer run.
_ANCHOR_BYTES = 3
_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


def marker(name: str) -> str:
    """The text that replaces a secret. It is the same in JSON and in plain text."""
    return f"[secret {_NAME.sub('_', name)[:64] or 'value'}]"


class Masker:
    """Finds the given secrets, each with its name, in all their forms."""

    def __init__(self, secrets: Mapping[bytes, str]) -> None:
        self.secrets = secrets
        self._sorted = sorted(secrets.items(), key=lambda secret: -len(secret[0]))
        self._parts: dict[int, set[int]] = {_WIDE: set(), _NARROW: set()}
        self._anchors: list[bytes] = []
        self._blind = False
        for value, _ in self._sorted:
            for form in forms_of(value):
                self._watch_for(form)
        self._wide, self._narrow = (frozenset(self._parts[size]) for size in (_WIDE, _NARROW))

    def __bool__(self) -> bool:
        return bool(self.secrets)

    def _watch_for(self, form: Form) -> None:
        longest = max(map(len, form.runs), default=0)
        size = next((size for size in (_WIDE, _NARROW) if longest >= 2 * size - 1), None)
        if size:
            for run in form.runs:
                parts = (run[at : at + size] for at in range(len(run) - size + 1))
                self._parts[size].update(int.from_bytes(part, sys.byteorder) for part in parts)
        elif longest >= _ANCHOR_BYTES:
            self._anchors += [run for run in form.runs if len(run) == longest]
        else:
            self._blind = True

    def suspects(self, data: bytes) -> bool:
        """Whether `data` may have a secret in it. False is certain."""
        length, view = len(data), memoryview(data)
        return (
            (bool(self._wide) and not self._wide.isdisjoint(view[: length & ~7].cast("Q")))
            or (bool(self._narrow) and not self._narrow.isdisjoint(view[: length & ~3].cast("I")))
            or self._blind
            or any(anchor in data for anchor in self._anchors)
        )

    def mask(self, data: bytes) -> bytes:
        """The same object if it has no secret in it."""
        if not self.secrets or not self.suspects(data):
            return data
        return self._pattern.sub(self._replace, data)

    def mask_text(self, text: str) -> str:
        data = text.encode("utf-8", "surrogatepass")
        masked = self.mask(data)
        return text if masked is data else masked.decode("utf-8", "surrogatepass")

    def mask_json(self, data: bytes) -> bytes:
        """JSON stays JSON. A replacement that would break it (in a number, after a backslash) is made in the values."""
        masked = self.mask(data)
        if masked == data or _is_json(masked) or not _is_json(data):
            return masked
        return msgspec.json.encode(self.mask_value(msgspec.json.decode(data)))

    def mask_value(self, value: object, *, numbers: bool = True) -> object:
        """A decoded JSON value with all its text masked. With `numbers`, a number that is a secret becomes text."""
        if isinstance(value, str):
            return self.mask_text(value)
        if isinstance(value, dict):
            fields = cast("dict[object, object]", value).items()
            return {self.mask_text(str(key)): self.mask_value(each, numbers=numbers) for key, each in fields}
        if isinstance(value, list):
            return [self.mask_value(each, numbers=numbers) for each in cast("list[object]", value)]
        if numbers and isinstance(value, int | float) and not isinstance(value, bool):
            masked = self.mask_text(str(value))
            return value if masked == str(value) else masked
        return value

    def search(self, text: str, start: int) -> tuple[int, int, str] | None:
        """The start and the end of the first secret in a text, and its marker."""
        if not self.secrets:
            return None
        found = self._text_pattern.search(text, start)
        return None if found is None else (found.start(), found.end(), self._marker(found.lastindex))

    @cached_property
    def literals(self) -> Collection[str]:
        """The forms in which a secret is recognised by its beginning."""
        return {literal for value, _ in self._sorted for form in forms_of(value) for literal in form.literals}

    @cached_property
    def _pattern(self) -> "re.Pattern[bytes]":
        return re.compile(b"|".join(self._alternatives()))

    @cached_property
    def _text_pattern(self) -> "re.Pattern[str]":
        return re.compile(b"|".join(self._alternatives()).decode())

    def _alternatives(self) -> Iterable[bytes]:
        """One group for each secret, the longest first, so that the longest of two that begin alike is found."""
        for value, _ in self._sorted:
            yield b"(" + b"|".join(form.pattern for form in forms_of(value)) + b")"

    def _replace(self, found: "re.Match[bytes]") -> bytes:
        return self._marker(found.lastindex).encode()

    def _marker(self, group: int | None) -> str:
        return marker(self._sorted[(group or 1) - 1][1])


#: Masks nothing.
NOTHING = Masker({})


def _is_json(data: bytes) -> bool:
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except msgspec.DecodeError:
        return False
    return True
