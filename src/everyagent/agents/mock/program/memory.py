"""State of a native session that outlives the process: one small file in the scratch folder."""

import json
import os
from pathlib import Path
from typing import cast


class UnknownSession(Exception):
    pass


class MockMemory:
    """`turns` begun so far, tools `always` allowed, and whether the program ended by `[exit]`."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.session = path.stem
        self.turns = 0
        self.always: set[str] = set()
        self.exited = False

    @classmethod
    def new(cls, scratch: Path) -> "MockMemory":
        scratch.mkdir(parents=True, exist_ok=True)
        memory = cls(scratch / f"mock-{os.urandom(6).hex()}.json")
        memory.save()
        return memory

    @classmethod
    def load(cls, scratch: Path, session: str) -> "MockMemory":
        memory = cls(scratch / f"{session}.json")
        try:
            kept = cast(dict[str, object], json.loads(memory._path.read_bytes()))
        except (OSError, ValueError) as error:
            raise UnknownSession(f"no session {session} in {scratch}: {error}") from error
        memory.turns = cast(int, kept["turns"])
        memory.always = set(cast(list[str], kept["always"]))
        memory.exited = kept["exited"] is True
        return memory

    def save(self) -> None:
        kept = {"turns": self.turns, "always": sorted(self.always), "exited": self.exited}
        fresh = self._path.with_suffix(".new")
        fresh.write_text(json.dumps(kept))
        os.replace(fresh, self._path)
