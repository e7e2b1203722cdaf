"""Free ports on loopback for programs that must be given one."""

import secrets
import socket

#: Below those that the kernel gives to clients, from 32,768 on. None of them is 10,000 above another.
_PORTS = range(10_000, 20_000)


def free_port() -> int:
    """A port that no client takes before the program does. The one 10,000 above it is free, too."""
    while True:
        port = secrets.choice(_PORTS)
        if _is_free(port) and _is_free(port + 10_000):
            return port


def _is_free(port: int) -> bool:
    try:
        socket.create_server(("127.0.0.1", port)).close()
    except OSError:
        return False
    return True
