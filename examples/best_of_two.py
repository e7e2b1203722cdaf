"""Give two agents the same task, each in a git worktree of a folder, and merge the result that a command accepts.

python examples/best_of_two.py --agents claude codex --check "make test" ./project "Make the failing test pass"
"""

import argparse
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from everyagent.client import Client, Session


def begin(client: Client, agent: str, folder: Path) -> Session:
    """The agent may do all it wants in its worktree: the folder stays as it is."""
    return client.use(client.create(agent=agent, directory=str(folder), worktree=True, permission_mode="bypass"))


def accepted(session: Session, check: str) -> bool:
    return subprocess.run(check, shell=True, cwd=session.worktree().path, check=False).returncode == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--agents", nargs=2, required=True, metavar="AGENT")
    parser.add_argument("--check", required=True, help="a command that succeeds in a good result")
    parser.add_argument("folder", type=Path, help="a folder of a git repository")
    parser.add_argument("task")
    asked = parser.parse_args()
    with Client() as client, ThreadPoolExecutor() as both:
        sessions = [begin(client, agent, asked.folder.resolve()) for agent in asked.agents]
        try:
            list(both.map(lambda session: session.run(asked.task), sessions))
            for agent, session in zip(asked.agents, sessions, strict=True):
                if accepted(session, asked.check):
                    merged = session.merge()
                    print(f"{agent}: accepted, {len(merged.files)} files merged into {merged.branch}")
                    return 0
                print(f"{agent}: refused")
        finally:
            for session in sessions:
                session.drop(discard=True)
    print("neither was accepted; nothing was changed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
