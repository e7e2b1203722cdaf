"""Dictionaries that remember a limited number of entries: the oldest one is forgotten first."""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(memory: dict[K, V], key: K, value: V, limit: int) -> None:
    memory[key] = value
    if len(memory) > limit:
        del memory[next(iter(memory))]
