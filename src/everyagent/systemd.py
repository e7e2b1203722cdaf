"""Notifies systemd that the daemon is ready, stops, or is alive (`Type=notify` and `WatchdogSec` of a unit)."""

import os
import socket

import anyio

from everyagent.logs import get_logger

logger = get_logger(__name__)


def notify(state: str) -> None:
    """Send a state such as `READY=1` to the service manager, if there is one."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):  # a name that is in no folder
        address = "\0" + address[1:]
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.connect(address)
            sender.sendall(state.encode())
    except OSError as error:
        logger.warning("systemd could not be notified", state=state, why=str(error))


async def feed_watchdog() -> None:
    """Report that the event loop runs, twice in the time after which systemd would restart the daemon."""
    seconds = _watchdog_seconds()
    while seconds:
        notify("WATCHDOG=1")
        await anyio.sleep(seconds / 2)


def _watchdog_seconds() -> float:
    """0 if systemd expects no notifications of this process."""
    if os.environ.get("WATCHDOG_PID", str(os.getpid())) != str(os.getpid()):
        return 0.0
    text = os.environ.get("WATCHDOG_USEC", "")
    return int(text) / 1_000_000 if text.isdecimal() else 0.0
