import socket
import sys
from collections.abc import Generator

import pytest


@pytest.fixture
def attempt() -> Generator[str]:
    """A command that reaches a server on this machine, if it can: `reached` and `tried` are files that tell of it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 10)"
        yield f'{sys.executable} -c "{reach}" && touch reached; touch tried; echo blocked'
