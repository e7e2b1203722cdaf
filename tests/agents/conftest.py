import socket
import sys
from collections.abc import Generator

import httpx2
import pytest
from tests.agents.stage import Stage

from everyagent.model.events import Error


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A test that failed shows the errors in its session's log."""
    report = yield
    session: object = getattr(item, "funcargs", {}).get("session")
    if report.when == "call" and report.failed and isinstance(session, Stage) and session.id:
        try:
            found = "\n".join(f"{error.code}: {error.message}" for error in session.all(Error))
        except (httpx2.HTTPError, AssertionError) as problem:
            found = f"The log cannot be read: {problem}"
        report.sections.append(("errors in the session's log", found))
    return report


@pytest.fixture
def attempt() -> Generator[str]:
    """A command that creates `reached` if it can connect to a server on this machine, and `tried` in any case."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        reach = f"import socket; socket.create_connection(('127.0.0.1', {server.getsockname()[1]}), 10)"
        yield f'{sys.executable} -c "{reach}" && touch reached; touch tried; echo blocked'
