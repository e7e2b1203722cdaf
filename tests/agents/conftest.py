import socket
import sys
from collections.abc import Generator

import pytest


@pytest.fixture
def attempt() -> Generator[str]:
    """A command that creates `reached` if it can connect to a server on this machine, and `tried` in any case."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 10)"
        yield f'{sys.executable} -c "{reach}" && touch reached; touch tried; echo blocked'
