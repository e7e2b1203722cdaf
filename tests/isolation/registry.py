"""The list of attempts to get out of a wall, and what they use. Standard library only: it runs behind the wall.

An attempt gets the facts that an attacker could know, and returns how it succeeded, or None. One that raises was
blocked.
"""

import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

Facts = dict[str, str]
Attempt = Callable[[Facts], object]
libc = ctypes.CDLL(None, use_errno=True)
ATTEMPTS: dict[str, Attempt] = {}


def attempt(function: Attempt) -> Attempt:
    ATTEMPTS[function.__name__] = function
    return function


def called(result: int) -> bool:
    """Whether a system call succeeded."""
    return result >= 0


def run(*argv: str) -> str:
    """The output of a program; raises if it fails."""
    return subprocess.run(argv, check=True, capture_output=True, text=True, timeout=20).stdout


def written(path: str) -> str:
    Path(path).write_text("changed by the agent")
    return f"wrote {path}"


def in_new_namespaces(script: str) -> str:
    """Root in a user namespace of the agent's own, with its own mounts."""
    return run("unshare", "--user", "--map-root-user", "--mount", "sh", "-ec", script)
