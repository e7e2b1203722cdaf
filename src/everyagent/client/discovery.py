"""Finds the address and the token of this machine's daemon."""

import os
from pathlib import Path
from urllib.parse import urlsplit

DEFAULT_URL = "http://127.0.0.1:2468"


def find_url() -> str:
    """`EVERYAGENT_URL`, else the address that the daemon of the data folder has written there, else the default."""
    if given := os.environ.get("EVERYAGENT_URL"):
        return given
    try:
        return (data_dir() / "daemon.url").read_text().strip() or DEFAULT_URL
    except OSError:
        return DEFAULT_URL


def find_token(url: str) -> str | None:
    """`EVERYAGENT_TOKEN`, else this machine's token file, which is never sent to another machine."""
    given = os.environ.get("EVERYAGENT_TOKEN")
    if given or not is_loopback(url):
        return given or None
    try:
        return (data_dir() / "token").read_text().strip() or None
    except OSError:
        return None


def data_dir() -> Path:
    given = os.environ.get("EVERYAGENT_DATA_DIR")
    if given:
        return Path(given)
    from platformdirs import user_data_path

    return user_data_path("everyagent", appauthor=False)


def is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in {"localhost", "::1"} or host.startswith("127.")
