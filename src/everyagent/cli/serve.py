"""`everyagent serve`: the daemon, until it is stopped."""

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from everyagent.cli.daemon_start import start
from everyagent.config import LogFormat


def serve(
    *,
    host: str | None = None,
    port: int | None = None,
    data_dir: Path | None = None,
    token: str | None = None,
    no_token: Annotated[bool | None, Parameter(negative=())] = None,
    default_agent: str | None = None,
    idle_timeout: float | None = None,
    prices: Path | None = None,
    log_format: LogFormat | None = None,
    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
) -> int:
    """Start the daemon.

    Every option is also an environment variable, EVERYAGENT_PORT and so on, and a key in config.toml.

    Parameters
    ----------
    host
        Where to listen. [default: 127.0.0.1]
    port
        0 takes a free one. [default: 2468]
    data_dir
        Where the log, the token and the agents are kept.
    token
        What clients must show. [default: the one in the data folder, made at the first start]
    no_token
        Let every program on this machine in. Refused beyond loopback.
    default_agent
        For sessions that name none. [default: claude]
    idle_timeout
        Seconds after which an idle session's process is put to sleep. [default: 600]
    prices
        A file that says what models cost, for budgets. [default: prices.json in the data folder]
    log_format
        Lines for people, or JSON. [default: auto]
    json
        Say where it listens as one JSON document.
    """
    return start(
        {
            "host": host,
            "port": port,
            "data-dir": data_dir,
            "token": token,
            "no-token": no_token,
            "default-agent": default_agent,
            "idle-timeout": idle_timeout,
            "prices": prices,
            "log-format": log_format,
            "json": json,
        }
    )
