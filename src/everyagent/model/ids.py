"""Prefixed ids that sort by creation time."""

import secrets
import threading
import time
from itertools import count

_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def _base32(number: int, width: int) -> str:
    digits: list[str] = []
    for _ in range(width):
        digits.append(_ALPHABET[number & 31])
        number >>= 5
    return "".join(reversed(digits))


class IdMaker:
    """Makes unique ids, from any thread; those of one thread are strictly increasing.

    `evt_` + 10 characters of milliseconds + 6 of a counter + 10 random ones that are the same for all ids of a maker.
    """

    def __init__(self) -> None:
        self._suffix = _base32(secrets.randbits(50), 10)
        self._lock = threading.Lock()
        self._millisecond = (0, "", count().__next__)  # replaced as a whole; its counter is atomic

    def new(self, prefix: str) -> str:
        """A new id. Prefixes: `evt_` `itm_` `sess_` `turn_` `perm_` `ques_` `tool_` `req_`."""
        millis = time.time_ns() // 1_000_000
        if millis > self._millisecond[0]:
            with self._lock:
                if millis > self._millisecond[0]:
                    self._millisecond = (millis, _base32(millis, 10), count().__next__)
        _, head, number = self._millisecond
        return f"{prefix}{head}{number():06x}{self._suffix}"


new_id = IdMaker().new
