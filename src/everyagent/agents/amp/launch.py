"""Arguments, environment, settings, permission hooks and MCP configuration of an Amp process."""

import os
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import get_args

import msgspec
from msgspec import Struct

from everyagent.agents import hook_client
from everyagent.agents.adapter import Launch, bash_variables
from everyagent.agents.amp import failures, modes, program, settings, untrusted_config
from everyagent.agents.amp.permissions import Standing
from everyagent.agents.amp.policies import TOOLS_SERVER
from everyagent.errors import AgentNotLoggedIn
from everyagent.model.policies import ToolPolicies
from everyagent.model.tools import McpLocal, McpServer
from everyagent.runtime.environment import scrubbed

_PROTOCOL = ("-x", "--stream-json", "--stream-json-input", "--stream-json-thinking", "--no-archive-after-execute")
_NAMES = frozenset(
    {
        "AMP_API_KEY",
        "AMP_URL",
        "AMP_LOG_LEVEL",
        "AMP_LOG_FILE",
        "AMP_RIPGREP_PATH",
        "XDG_CONFIG_HOME",
        "XDG_DATA_HOME",
        "XDG_CACHE_HOME",
        "HTTP_PROXY",
        "HTTPS_PROXY",
        "NO_PROXY",
        "http_proxy",
        "https_proxy",
        "no_proxy",
    }
)


class HookAddress(Struct, frozen=True, kw_only=True):
    """The hook server's socket, and the session's token for it."""

    socket: Path
    token: str


class AmpFiles(Struct, frozen=True, kw_only=True):
    """Files written for a session, readable by this user alone."""

    settings: Path
    mcp: Path | None


def argv(binary: str, launch: Launch, files: AmpFiles, thread: str | None) -> list[str]:
    """The command line. It holds no secrets, because every process on the machine can read it."""
    words = [binary, *(("threads", "continue", thread) if thread else ()), *_PROTOCOL]
    words += ["--settings-file", str(files.settings), "--mode", launch.variant or modes.DEFAULT_VARIANT]
    return [*words, "--mcp-config", str(files.mcp)] if files.mcp else words


def environment(launch: Launch, source: Mapping[str, str]) -> dict[str, str]:
    """Variables of the daemon's environment `source` that name an account or a server, and those of the session."""
    allowed = [name for name in source if name in _NAMES]
    shell = bash_variables(launch.shell)  # its commands always run in a bash
    return scrubbed(source, allow=allowed, session={"AMP_SKIP_UPDATE_CHECK": "1"} | launch.env | shell)


def prepare(
    launch: Launch, environment: Mapping[str, str], mode: str, policies: ToolPolicies, address: HookAddress
) -> AmpFiles:
    """Write the files of a session. Raises `AgentNotLoggedIn`, and `AgentFailed` if its mode cannot be enforced."""
    user = settings.of_user(environment)
    _refuse_without_login(environment, user)
    untrusted_config.refuse(launch.directory, mode, policies, user, environment)
    folder = folder_of(launch)
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    delegates: dict[Standing, Path] = {standing: folder / standing for standing in get_args(Standing)}
    token_file = folder / "hook-token"
    _write(token_file, address.token.encode())
    for standing, path in delegates.items():
        _write(path, _script(standing, address.socket, token_file).encode(), mode=0o700)
    made = settings.for_session(user, delegates, TOOLS_SERVER, policies)
    _write(folder / "settings.json", msgspec.json.encode(made))
    servers = _servers(launch)
    if servers:
        _write(folder / "mcp.json", msgspec.json.encode(servers))
    return AmpFiles(settings=folder / "settings.json", mcp=folder / "mcp.json" if servers else None)


def _refuse_without_login(environment: Mapping[str, str], user: settings.Settings) -> None:
    url = environment.get("AMP_URL") or settings.url_of(user) or program.DEFAULT_URL
    unknowable = user.get(settings.NATIVE_SECRETS) is True
    if not unknowable and not program.login({**environment, "AMP_URL": url}):
        raise AgentNotLoggedIn(failures.NO_LOGIN)


def folder_of(launch: Launch) -> Path:
    return launch.scratch / "amp"


def _script(standing: Standing, socket: Path, token_file: Path) -> str:
    """A script that runs the hook with its arguments, because Amp accepts only a program's path. Amp's key is unset."""
    words = [sys.executable, "-I", "-S", hook_client.__file__, str(socket), str(token_file), standing]
    command = shlex.join(words)
    return f'#!/bin/sh\nunset AMP_API_KEY\nexec {command} "$AGENT_TOOL_NAME"\n'


def _servers(launch: Launch) -> dict[str, dict[str, object]]:
    servers = {name: _server(server) for name, server in launch.mcp.items() if server.enabled}
    if launch.tools_url:
        headers = {"Authorization": f"Bearer {launch.tools_token}"} if launch.tools_token else {}
        servers[TOOLS_SERVER] = {"url": launch.tools_url, "headers": headers}
    return servers


def _server(server: McpServer) -> dict[str, object]:
    if isinstance(server, McpLocal):
        command, *arguments = server.command
        if server.cwd:  # Amp starts servers in its own directory
            command, arguments = "/bin/sh", ["-c", f"cd {shlex.quote(server.cwd)} && exec {shlex.join(server.command)}"]
        return {"command": command, "args": arguments, "env": server.env}
    return {"url": server.url, "headers": server.headers}


def _write(path: Path, data: bytes, *, mode: int = 0o600) -> None:
    """Replace a file in one step, because a process may be reading it; never readable by others."""
    fresh = path.with_name(f"{path.name}.new")
    fresh.unlink(missing_ok=True)
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
    os.replace(fresh, path)
