"""The arguments with which the programs of agents log in, and the `everyagent` command that passes them."""

from collections.abc import Mapping
from typing import Final

#: Without arguments, the program offers its login when it is started in a terminal.
LOGIN_ARGUMENTS: Final[Mapping[str, tuple[str, ...]]] = {
    "claude": ("auth", "login"),
    "codex": ("login",),
    "opencode": ("auth", "login"),
    "amp": ("login",),
    "copilot": ("login",),
    "gemini": (),
    "qwen": (),
    "kimi": ("login",),
    "goose": ("configure",),
    "pi": (),
    "vibe": ("--setup",),
    "cline": ("auth",),
    "auggie": ("login",),
    "droid": (),
}


def login_command(agent: str) -> str | None:
    """The command for a user's terminal, on the daemon's machine. None for an agent that has no login."""
    return f"everyagent agents login {agent}" if agent in LOGIN_ARGUMENTS else None
