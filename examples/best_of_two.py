"""Give two agents the same task, each in a copy of a folder, and keep the result that a command accepts.

python examples/best_of_two.py --agents claude codex --check "make test" ./project "Make the failing test pass"
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from everyagent.client import Client, Turn


def attempt(agent: str, folder: Path, task: str) -> Turn:
    """The turn of one agent, which may do all it wants in its copy."""
    with Client() as client:
        session = client.use(client.create(agent=agent, directory=str(folder), permission_mode="bypass"))
        try:
            return session.run(task)
        finally:
            session.terminate()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--agents", nargs=2, required=True, metavar="AGENT")
    parser.add_argument("--check", required=True, help="a command that succeeds in a good result")
    parser.add_argument("folder", type=Path)
    parser.add_argument("task")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        copies = [Path(scratch) / f"{number}-{agent}" for number, agent in enumerate(asked.agents, 1)]
        for copy in copies:
            shutil.copytree(asked.folder, copy)
        with ThreadPoolExecutor() as both:
            turns = list(both.map(attempt, asked.agents, copies, [asked.task] * 2))
        for copy, turn in zip(copies, turns, strict=True):
            good = subprocess.run(asked.check, shell=True, cwd=copy, check=False).returncode == 0
            print(f"{copy.name}: {turn.stop_reason}, {'accepted' if good else 'refused'}: {turn.text[:100]}")
            if good:
                shutil.copytree(copy, asked.folder, dirs_exist_ok=True)
                print(f"kept the result of {copy.name}")
                return 0
    print("neither was accepted; nothing was changed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
