"""Starting the daemon. Imports little: from here to the first answer, every millisecond is somebody's wait."""

import errno
from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import anyio
import msgspec

from everyagent import config, daemon, logs
from everyagent.agents.adapter import AgentState
from everyagent.cli.exit_codes import CommandFailed, ExitCode
from everyagent.config import Settings

_VALUED = frozenset({"host", "port", "data-dir", "token", "default-agent", "idle-timeout", "prices", "log-format"})
_SWITCHES = frozenset({"no-token", "json"})


def plain_options(words: Sequence[str]) -> dict[str, object] | None:
    """Options in their plain forms, which need no parser to load; None: somebody who knows more must look at them."""
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
    """Serve until stopped. `options` are settings, and `json` for how to say where it listens."""
    settings = config.load({name: value for name, value in options.items() if name != "json"})
    logs.set_up(settings.log_format)
    try:
        anyio.run(_serve, settings, bool(options.get("json")), backend_options={"use_uvloop": True})
    except* OSError as errors:
        raise _refused(settings, errors) from errors
    return ExitCode.OK


def _refused(settings: Settings, error: BaseException) -> CommandFailed:
    """What the system did not let us do, and how to go on."""
    match error:
        case BaseExceptionGroup(exceptions=(first, *_)):
            return _refused(settings, first)
        case OSError(filename=str(file)):
            return CommandFailed(f"{file} cannot be used: {error.strerror}. Choose another folder with --data-dir.")
        case OSError(errno=errno.EADDRINUSE):
            return CommandFailed(
                f"Port {settings.port} on {settings.host} is taken, perhaps by another everyagent. "
                "Stop it, or choose another port with --port (0 takes a free one)."
            )
        case _:
            return CommandFailed(f"Cannot listen on {settings.host}, port {settings.port}: {error}.")


async def _serve(settings: Settings, json: bool) -> None:
    address = settings.data_dir / config.ADDRESS_FILE
    with ExitStack() as at_the_end:

        def ready(running: daemon.RunningDaemon) -> None:
            address.write_text(running.url + "\n")
            at_the_end.callback(address.unlink, missing_ok=True)
            (announce_json if json else announce_to_people)(running)

        await daemon.run(settings, ready=ready, found=None if json else announce_agents)


def announce_to_people(running: daemon.RunningDaemon) -> None:
    """Where it listens, the inspector, how to get the token, how to stop it.

    The link's fragment stays in the browser: no server and no log ever sees the token in it.
    """
    print(f"everyagent listens on {running.url}")
    print(f"  inspector  {running.url}/ui/{f'#token={running.token}' if running.token else ''}")
    print(f"  token      {'everyagent token' if running.token else 'none needed'}")
    print("  stop       Ctrl-C", flush=True)


def announce_agents(agents: Mapping[str, AgentState]) -> None:
    """Asking them takes its time; whoever waits for the daemon need not."""
    installed = [agent for agent, state in agents.items() if state.installed]
    missing = [agent for agent in agents if agent not in installed]
    print(f"  agents     {', '.join(installed) or 'none'}", flush=True)
    if missing:
        print(f"  missing    {', '.join(missing)}  (everyagent agents install {' '.join(missing)})", flush=True)


def announce_json(running: daemon.RunningDaemon) -> None:
    print(msgspec.json.encode(running).decode(), flush=True)
