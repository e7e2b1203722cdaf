"""Parses directives in prompts: `[name key=value ...]`. Pure; used by the mock program. Stdlib only."""

import json
import re
from typing import NamedTuple


class Directive(NamedTuple):
    name: str
    options: dict[str, object]

    def text(self, key: str, default: str) -> str:
        value = self.options.get(key, default)
        return value if isinstance(value, str) else json.dumps(value)

    def number(self, key: str, default: float) -> float:
        value = self.options.get(key, default)
        return value if isinstance(value, int | float) else default

    def whole(self, key: str, default: int) -> int:
        return max(0, int(self.number(key, default)))

    def flag(self, key: str) -> bool:
        return self.options.get(key) is True


_OPEN = re.compile(r"\[([a-z]+)(?=[\s\]])")
_KEY = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*)=")
_WORD = re.compile(r"[^\s\]]+")
_CLOSE = re.compile(r"\s*\]")
_QUOTED = re.compile(r"""(["'])((?:\\.|(?!\1).)*)\1""", re.DOTALL)
_json = json.JSONDecoder(strict=False)


def parse(prompt: str, names: frozenset[str]) -> list[Directive | str]:
    """Directives and the text between them, in order. Only `names` are directives; all else is text.

    A value is JSON, a "quoted string" or a bare word.
    """
    steps: list[Directive | str] = []
    start = position = 0
    while found := _OPEN.search(prompt, position):
        directive, end = _directive(prompt, found) if found[1] in names else (None, found.end())
        position = end
        if directive:
            steps += _text(prompt[start : found.start()])
            steps.append(directive)
            start = end
    return steps + _text(prompt[start:])


def _text(text: str) -> list[Directive | str]:
    stripped = text.strip()
    return [stripped] if stripped else []


def _directive(prompt: str, opened: re.Match[str]) -> tuple[Directive | None, int]:
    options: dict[str, object] = {}
    position = opened.end()
    while key := _KEY.match(prompt, position):
        options[key[1]], position = _value(prompt, key.end())
    closed = _CLOSE.match(prompt, position)
    return (Directive(opened[1], options), closed.end()) if closed else (None, opened.end())


def _value(prompt: str, position: int) -> tuple[object, int]:
    word = _WORD.match(prompt, position)
    try:
        value, end = _json.raw_decode(prompt, position)
    except ValueError:
        if quoted := _QUOTED.match(prompt, position):
            return quoted[2].replace("\\" + quoted[1], quoted[1]), quoted.end()
    else:
        if prompt[position] in '"{[' or (word and word.end() == end):
            return value, end
    return (word[0], word.end()) if word else ("", position)
