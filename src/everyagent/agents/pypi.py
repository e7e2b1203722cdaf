"""Installs programs from PyPI with uv, each in an environment of its own. Blocking: call it in a thread."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from everyagent.errors import AgentFailed
from everyagent.runtime import command
from everyagent.runtime.environment import scrubbed

if TYPE_CHECKING:
    from everyagent.agents.packages import Program

_LIMIT_SECONDS = 600.0


def install(program: "Program", home: Path) -> Path:
    """The program's path. `home` keeps it: its environment cannot be moved, so a failed one is installed again."""
    wanted = f"{program.package}=={program.version}"
    given = [name for name in os.environ if name.startswith(("UV_", "SSL_")) or name.lower().endswith("_proxy")]
    places = {"UV_TOOL_DIR": str(home / "tools"), "UV_TOOL_BIN_DIR": str(home), "UV_NO_PROGRESS": "1"}
    argv = [*uv(), "tool", "install", "--force", "--python", program.python, wanted]
    environment = scrubbed(os.environ, allow=given, session=places)
    try:
        command.run(argv, environment=environment, limit=_LIMIT_SECONDS)
    except subprocess.CalledProcessError as error:
        raise AgentFailed(f"uv could not install {wanted}: {str(error.stderr).strip()[-500:]}") from error
    except subprocess.TimeoutExpired:
        raise AgentFailed(f"uv did not install {wanted} within {_LIMIT_SECONDS:.0f} seconds.") from None
    path = home / program.place
    if not path.is_file():
        raise AgentFailed(f"The package {wanted} has no command {program.member}.")
    return path


def uv() -> list[str]:
    """The machine's uv, else the one in this Python."""
    found = shutil.which("uv")
    if found:
        return [found]
    if importlib.util.find_spec("uv"):
        return [sys.executable, "-m", "uv"]
    raise AgentFailed(
        "This agent is fetched with uv, and there is none. `pip install uv` into everyagent's environment, and try "
        "again."
    )
