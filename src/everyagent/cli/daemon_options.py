"""Options shared by all commands that talk to a daemon: its address, token and data folder, and `--json`."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cyclopts import Group, Parameter

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.client import AsyncClient, Client
from everyagent.client.discovery import is_loopback
from everyagent.config import ADDRESS_FILE, Settings, load, read_token

#: Seconds for which a command retries while the daemon does not answer.
PATIENCE = 60.0


class NoDaemon(CliFailure):
    def __init__(self, message: str) -> None:
        super().__init__(message, ExitCode.NO_DAEMON)


_DAEMON = Group("Daemon", sort_key=100)


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class DaemonOptions:
    url: Annotated[str | None, Parameter(group=_DAEMON)] = None
    """The daemon's address. [env: EVERYAGENT_URL]"""

    token: Annotated[str | None, Parameter(group=_DAEMON)] = None
    """The access token. [default: the one in the data folder] [env: EVERYAGENT_TOKEN]"""

    data_dir: Annotated[Path | None, Parameter(group=_DAEMON)] = None
    """The data folder. [env: EVERYAGENT_DATA_DIR]"""

    json: Annotated[bool, Parameter(negative=(), show_default=False)] = False
    """Print JSON; streams print one JSON document per line."""

    def settings(self) -> Settings:
        return load({"token": self.token, "data_dir": self.data_dir})

    def find(self) -> tuple[str, str | None]:
        """The address and the token. The token file of this machine is never sent to another machine.

        Raises `NoDaemon` if a data folder was named that no daemon uses: another daemon would have other sessions.
        """
        settings = self.settings()
        url = self.url or os.environ.get("EVERYAGENT_URL") or _last_address(settings.data_dir)
        if url is None and self.data_dir is not None:
            raise NoDaemon(
                f"No daemon uses the data folder {self.data_dir}. Start one with `everyagent serve --data-dir "
                f"{self.data_dir}`, or name another with --url."
            )
        url = url or _address(settings)
        return url, settings.token or (read_token(settings.data_dir) if is_loopback(url) else None)

    def url_given(self) -> bool:
        """Whether the user named the address, by flag or environment."""
        return bool(self.url or os.environ.get("EVERYAGENT_URL"))

    def client(self) -> Client:
        url, token = self.find()
        return Client(url, token, attempts=2, patience=PATIENCE)

    def async_client(self) -> AsyncClient:
        url, token = self.find()
        return AsyncClient(url, token, attempts=2, patience=PATIENCE)


DEFAULT_OPTIONS = DaemonOptions()


def _last_address(data_dir: Path) -> str | None:
    try:
        return (data_dir / ADDRESS_FILE).read_text().strip() or None
    except OSError:
        return None


def _address(settings: Settings) -> str:
    host = "127.0.0.1" if settings.host in {"0.0.0.0", "::", ""} else settings.host
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"
