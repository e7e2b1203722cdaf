"""Runs `everyagent` with `hostile_agent.py` in place of the mock program."""

import sys
from pathlib import Path

import everyagent
from everyagent.agents.mock import launch
from everyagent.cli.main import main

_PATHS = [str(Path(everyagent.__file__).parents[1]), str(Path(__file__).parents[2])]
_BOOT = f"import sys; sys.path += {_PATHS!r}; from tests.torture.hostile_agent import main; main()"


def argv() -> list[str]:
    return [sys.executable, "-I", "-S", "-c", _BOOT]


if __name__ == "__main__":
    launch.argv = argv
    main()
