"""Helpers of the CLI tests: a real daemon in its own process, and the CLI in this one."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec

COMMAND = [sys.executable, "-c", "from everyagent.cli.main import main; main()"]


class Daemon(msgspec.Struct, frozen=True):
    url: str
    token: str
    data_dir: Path


class Outcome(msgspec.Struct, frozen=True):
    code: int
    out: str
    err: str


Cli = Callable[..., Outcome]
Golden = Callable[[str, str], None]


def environment(data_dir: Path) -> dict[str, str]:
    """An environment without the user's own settings."""
    ours = {name: value for name, value in os.environ.items() if not name.startswith("EVERYAGENT_")}
    return ours | {"EVERYAGENT_DATA_DIR": str(data_dir), "EVERYAGENT_CONFIG": str(data_dir / "config.toml")}
