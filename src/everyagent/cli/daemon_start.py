"""Starts the daemon for `everyagent serve`. Imports little, because it determines the start-up time."""

import errno
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import anyio
import msgspec

from everyagent import config, daemon, logs
from everyagent.agents.adapter import AgentState
from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.config import Settings

_VALUED = frozenset(
    {
        *("host", "port", "data-dir", "token", "default-agent", "idle-timeout", "prices", "log-format"),
        *("log-level", "retain-days", "retain-events", "retain-status"),
        *("store", "blobs", "bus", "turn-timeout", "runner-lease"),
        *("max-requests", "max-sessions", "max-agents", "max-queued-messages"),
        *(
            "isolation",
            "min-isolation",
            "key-directory",
            "allowed-host",
            "allowed-origin",
            "node-url",
            "session-memory",
        ),
        *("vault-key-file", "vault-key-command", "webhook-networks", "webhook-pause-after", "public-url"),
        *("trusted-proxy", "tls-cert", "tls-key"),
        *("session-processes", "session-cpu", "session-open-files", "session-disk", "session-checkpoints"),
    }
)
_SWITCHES = frozenset({"no-token", "json", "cluster", "access-log"})


def plain_options(words: Sequence[str]) -> dict[str, object] | None:
    """Parse options in their plain forms without loading the CLI parser. None if the full parser is needed."""
    options: dict[str, object] = {}
    rest = iter(words)
    for word in rest:
        name, given, value = word.removeprefix("--").partition("=")
        if not word.startswith("--") or name in options:
            return None
        if name in _SWITCHES and not given:
            options[name] = True
        elif name in _VALUED and (text := value if given else next(rest, "")) and not text.startswith("-"):
            options[name] = text
        else:
            return None
    return options


def start(options: Mapping[str, object]) -> int:
    """Serve until stopped. `options` are the settings, and `json` for the form of the start message."""
    settings = config.load({name: value for name, value in options.items() if name != "json"})
    logs.set_up(settings.log_format, settings.log_level)
    try:
        anyio.run(_serve, settings, bool(options.get("json")), backend_options={"use_uvloop": True})
    except* OSError as errors:
        raise _start_failure(settings, errors) from errors
    return ExitCode.OK


def _start_failure(settings: Settings, error: BaseException) -> CliFailure:
    """Explain an `OSError` at the start, and what the user can do."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return _start_failure(settings, first)
        case OSError(filename=str(file)):
            return CliFailure(f"Cannot use {file}: {error.strerror}. Choose another folder with --data-dir.")
        case OSError(errno=errno.EADDRINUSE):
            return CliFailure(
                f"Port {settings.port} on {settings.host} is in use, perhaps by another everyagent. "
                "Stop that program, or choose another port with --port or EVERYAGENT_PORT (0 chooses a free one)."
            )
        case _:
            return CliFailure(f"Cannot listen on {settings.host}, port {settings.port}: {error}.")


async def _serve(settings: Settings, json: bool) -> None:
    address = settings.data_dir / config.ADDRESS_FILE
    with ExitStack() as at_the_end:

        def ready(running: daemon.RunningDaemon) -> None:
            address.write_text(running.url + "\n")
            at_the_end.callback(address.unlink, missing_ok=True)
            (announce_json if json else announce_to_people)(running)

        await daemon.run(settings, ready=ready, found=None if json else announce_agents)


def announce_to_people(running: daemon.RunningDaemon) -> None:
    """Print the address, the inspector link, how to get the token and how to stop.

    The token is in the link's fragment, which browsers send to no server. It is printed to a terminal only:
    other outputs are files and logs that more people can read.
    """
    fragment = f"#token={running.token}" if running.token and sys.stdout.isatty() else ""
    print(f"everyagent listens on {running.url}")
    if running.public_url:
        print(f"  public     {running.public_url}")
    print(f"  inspector  {running.public_url or running.url}/ui/{fragment}")
    print(f"  token      {'everyagent token' if running.token else 'none needed'}")
    print("  stop       Ctrl-C", flush=True)


def announce_agents(agents: Mapping[str, AgentState], isolation: str) -> None:
    """Print the isolation of sessions, and the installed and missing agents.

    Called after the start message, because looking takes a while.
    """
    print(f"  isolation  {isolation}", flush=True)
    installed = [agent for agent, state in agents.items() if state.installed]
    missing = [agent for agent in agents if agent not in installed]
    print(f"  agents     {', '.join(installed) or 'none'}", flush=True)
    if missing:
        print(f"  missing    {', '.join(missing)}  (everyagent agents install {' '.join(missing)})", flush=True)


def announce_json(running: daemon.RunningDaemon) -> None:
    print(msgspec.json.encode(running).decode(), flush=True)
