"""Commands of the mock agent in a session that may reach no host."""

import os
import sys
from urllib.parse import urlsplit

import pytest
from tests.agents.offline import needs_isolation
from tests.isolation.walled_daemon import WalledDaemon, opened_folder

from everyagent.runtime.wall_probe import unavailable_reason

LEVELS = ["none"] if unavailable_reason() else ["namespace", "none"]


@needs_isolation
@pytest.mark.parametrize("level", LEVELS)
def test_commands_reach_only_allowed_hosts(level: str) -> None:
    with opened_folder() as base, WalledDaemon(base / "here", os.geteuid()).running() as daemon:
        port = urlsplit(daemon.url).port
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 10)"
        attempt = f'{sys.executable} -S -c "{reach}" && echo reached || echo refused'
        work = daemon.base / "work"
        assert daemon.shell(daemon.session(work, isolation=level), attempt).split()[-1] == "reached"
        offline = daemon.session(work, isolation=level, allowedHosts=[])
        assert daemon.shell(offline, attempt).split()[-1] == "refused"
