"""Parses flags of `everyagent run` for a session and its message, such as `--env`, `--mcp` and `--attach`."""

import base64
import mimetypes
import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.model.asks import AskTimeout
from everyagent.model.sessions import Attachment
from everyagent.model.tools import McpLocal, McpRemote, McpServer

#: Files are sent within the request, whose size the daemon limits.
MOST_ATTACHED_BYTES = 20 << 20


def environment(given: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE`, or `NAME` for the value that it has here."""
    found: dict[str, str] = {}
    for each in given:
        name, sign, value = each.partition("=")
        if not name or (not sign and name not in os.environ):
            raise CliFailure(f"--env {each}: write NAME=VALUE, or the name of a variable that is set.", ExitCode.USAGE)
        found[name] = value if sign else os.environ[name]
    return found


def ask_timeout_of(seconds: float, permission: Literal["deny", "allow"], question: str | None = None) -> AskTimeout:
    if seconds <= 0:
        raise CliFailure("--ask-timeout is a number of seconds, more than 0.", ExitCode.USAGE)
    return AskTimeout(seconds=seconds, permission=permission, question=question)


def mcp_servers(given: Sequence[str]) -> dict[str, McpServer]:
    """`NAME=URL`, or `NAME=COMMAND` with its arguments."""
    found: dict[str, McpServer] = {}
    for each in given:
        name, _, place = each.partition("=")
        try:
            command = shlex.split(place)
        except ValueError as error:
            raise CliFailure(f"--mcp {each}: {error}.", ExitCode.USAGE) from error
        if not name or not command:
            raise CliFailure(f"--mcp {each}: write NAME=URL, or NAME='COMMAND ARGUMENTS'.", ExitCode.USAGE)
        remote = place.startswith(("http://", "https://"))
        found[name] = McpRemote(url=place) if remote else McpLocal(command=command)
    return found


def attachments(paths: Sequence[Path]) -> list[Attachment]:
    """The files as they are now: the daemon may run on another machine."""
    try:
        contents = [path.read_bytes() for path in paths]
    except OSError as error:
        raise CliFailure(f"--attach {error.filename}: {error.strerror}.", ExitCode.USAGE) from error
    if (size := sum(map(len, contents))) > MOST_ATTACHED_BYTES:
        raise CliFailure(
            f"The attached files have {size:,} bytes together, and {MOST_ATTACHED_BYTES:,} can be sent. Name large "
            "files in the prompt instead; the agent reads those in its directory.",
            ExitCode.USAGE,
        )
    return [
        Attachment(data=base64.b64encode(content).decode(), filename=path.name, mime=mimetypes.guess_type(path.name)[0])
        for path, content in zip(paths, contents, strict=True)
    ]
