"""Prefixed ids that sort by creation time."""

import hashlib
import secrets
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import NamedTuple

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def base32(number: int, width: int) -> str:
    """The last `width` digits of a number, in Crockford's alphabet."""
    digits: list[str] = []
    for _ in range(width):
        digits.append(_ALPHABET[number & 31])
        number >>= 5
    return "".join(reversed(digits))


class IdSeries(NamedTuple):
    """Ids that begin and end alike: `start`, six hexadecimal digits of `number()`, `end`."""

    start: str
    number: Callable[[], int]
    end: str

    def new(self) -> str:
        return f"{self.start}{self.number():06x}{self.end}"


class IdMaker:
    """Makes unique ids, from any thread; those of one thread are strictly increasing.

    `evt_` + 10 characters of milliseconds + 6 of a counter + 10 random ones that are the same for all ids of a maker.
    """

    def __init__(self) -> None:
        self._suffix = base32(secrets.randbits(50), 10)
        self._lock = threading.Lock()
        self._millisecond = (0, "", count().__next__)  # replaced as a whole; its counter is atomic

    def new(self, prefix: str) -> str:
        """A new id. Prefixes: `evt_` `itm_` `sess_` `turn_` `perm_` `ques_` `tool_` `req_`."""
        return self.series(prefix).new()

    def series(self, prefix: str) -> IdSeries:
        """Many ids with the time of this call."""
        millis = time.time_ns() // 1_000_000
        if millis > self._millisecond[0]:
            with self._lock:
                if millis > self._millisecond[0]:
                    self._millisecond = (millis, base32(millis, 10), count().__next__)
        _, head, number = self._millisecond
        return IdSeries(prefix + head, number, self._suffix)


def derived_id(prefix: str, scope: str, key: str) -> str:
    """The same id for the same key in the same scope, always."""
    digest = hashlib.blake2b(f"{scope}\n{key}".encode(), digest_size=16).digest()
    return prefix + base32(int.from_bytes(digest), 26)


_maker = IdMaker()
new_id = _maker.new
id_series = _maker.series
