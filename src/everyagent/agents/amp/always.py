"""What a session's client allowed for good: kept in its scratch folder, so that it outlives process and daemon."""

import os
from pathlib import Path

import msgspec

from everyagent.agents.amp.permissions import Rule
from everyagent.logs import get_logger

logger = get_logger(__name__)

#: Whoever allows more than this for good is asked again about the oldest.
MOST = 1000


class Always:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules: list[Rule] = _read(path)
        self.rules: set[Rule] = set(self._rules)

    def add(self, rule: Rule) -> None:
        if rule in self.rules:
            return
        self._rules = [*self._rules, rule][-MOST:]
        self.rules = set(self._rules)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(self._rules))
        os.replace(fresh, self._path)


def _read(path: Path) -> list[Rule]:
    """Nothing, if it cannot be read: then it is asked for again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[Rule])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as problem:
        logger.warning("what was allowed for good cannot be read", path=str(path), problem=str(problem))
        return []
