"""Rules that the client answered with `always`, stored in the session's scratch folder."""

import os
from pathlib import Path

import msgspec

from everyagent.agents.amp.permissions import AllowRule
from everyagent.logs import get_logger

logger = get_logger(__name__)

#: The number of rules that are kept; of more, the oldest are dropped and asked about again.
MOST = 1000


class AlwaysAllowed:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._rules: list[AllowRule] = _read(path)
        self.rules: set[AllowRule] = set(self._rules)

    def add(self, rule: AllowRule) -> None:
        if rule in self.rules:
            return
        self._rules = [*self._rules, rule][-MOST:]
        self.rules = set(self._rules)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(msgspec.json.encode(self._rules))
        os.replace(fresh, self._path)


def _read(path: Path) -> list[AllowRule]:
    """The stored rules; none if the file cannot be read, so that the client is asked again."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=list[AllowRule])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError) as problem:
        logger.warning("stored permission rules cannot be read", path=str(path), problem=str(problem))
        return []
