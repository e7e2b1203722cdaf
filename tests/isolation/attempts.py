"""Runs attempts to get out of a wall, in an agent's shell.

Arguments: a JSON file with facts, and the names of attempts, all if there are none. Prints a JSON object: for each
attempt, how it succeeded, or null.
"""

import json
import sys
from pathlib import Path

from tests.isolation import namespaces, privileges, processes, reading, sockets, writing
from tests.isolation.registry import ATTEMPTS, Facts

GROUPS = (reading, writing, processes, namespaces, privileges, sockets)


def main() -> None:
    facts: Facts = json.loads(Path(sys.argv[1]).read_text())
    names = sys.argv[2:] or ATTEMPTS
    results: dict[str, object] = {}
    for name in names:
        try:
            results[name] = ATTEMPTS[name](facts)
        except Exception:  # noqa: BLE001 - whatever it raises, it did not get out
            results[name] = None
    sys.stdout.write(json.dumps({name: repr(found) if found is not None else None for name, found in results.items()}))


if __name__ == "__main__":
    main()
