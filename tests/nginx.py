"""Finds nginx, or takes it from the package of Debian without installing it, and runs it for a test."""

import os
import shutil
import socket
import subprocess
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.waiting import LIMIT_SECONDS, wait_until

CACHE = Path.home() / ".cache" / "everyagent" / "nginx"
_CONFIG = """
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/bodies;
    proxy_temp_path {folder}/proxied;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{servers}
}}
"""


def nginx() -> str:
    """The path of a program that starts. Skips the test if there is none."""
    CACHE.mkdir(parents=True, exist_ok=True)
    if found := _installed():
        return found
    for argv in (["apt-get", "update", "-qq"], ["apt-get", "download", "-qq", "nginx"]):
        _exit_code(argv)
    for package in CACHE.glob("nginx_*.deb"):
        _exit_code(["dpkg-deb", "-x", str(package), str(CACHE)])
    return _installed() or pytest.skip("nginx is not installed, and apt-get cannot fetch it")


@contextmanager
def running(folder: Path, servers: str, port: int) -> Generator[None]:
    """Runs nginx with these server blocks until it is left. `port` is one of theirs."""
    config = folder / "nginx.conf"
    config.write_text(_CONFIG.format(folder=folder, servers=servers))
    process = subprocess.Popen([nginx(), "-p", str(folder), "-c", str(config)], stderr=subprocess.PIPE, text=True)

    def listening() -> bool:
        assert process.poll() is None, process.stderr and process.stderr.read()
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            return False
        return True

    try:
        wait_until(listening, "nginx does not listen")
        yield
    finally:
        process.terminate()
        process.communicate(timeout=LIMIT_SECONDS)


def _installed() -> str | None:
    found = (shutil.which("nginx"), "/usr/sbin/nginx", str(CACHE / "usr" / "sbin" / "nginx"))
    return next((path for path in found if path and os.access(path, os.X_OK) and _exit_code([path, "-v"]) == 0), None)


def _exit_code(argv: list[str]) -> int | None:
    """None if the command did not run."""
    try:
        return subprocess.run(argv, cwd=CACHE, capture_output=True, timeout=300).returncode
    except (OSError, subprocess.SubprocessError):
        return None
