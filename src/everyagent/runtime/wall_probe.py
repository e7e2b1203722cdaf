"""Tries whether this machine can put a program behind a wall."""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path

from everyagent.runtime import wall

_LIMIT_SECONDS = 30.0


@cache
def unavailable_reason() -> str | None:
    """The reason why this machine has no walls, None if it has. Blocks the first time."""
    if sys.platform != "linux":
        return "Walls are made of Linux namespaces."
    try:
        made = wall.build(home=Path.home(), read_only=(), writable=(), hidden=())
        path = {"PATH": os.environ.get("PATH", os.defpath)}
        with wall.entry([("level", "namespace"), ("cwd", "/"), *made.steps], ["true"], path) as (argv, words):
            tried = subprocess.run(argv, env={}, capture_output=True, timeout=_LIMIT_SECONDS, pass_fds=[words])
    except (OSError, subprocess.SubprocessError) as error:
        return str(error)
    if tried.returncode == 0:
        return None
    lines = tried.stderr.decode(errors="replace").strip().splitlines()
    return lines[-1].removeprefix("everyagent: ") if lines else f"The trial ended with exit code {tried.returncode}."
