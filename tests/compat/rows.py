"""Rows of docs/compatibility.md whose programs run in `make test`: checked by the tests that ran them."""

import re
from collections.abc import Generator
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.compat.results import Result, check_result

#: What a test file writes to own a row.
_OWNS = re.compile(r'\b(?:check_result|passed|compat_row)\(\s*"([^"]+)"')


def passed(name: str) -> None:
    """For the end of a test that ran the program of this row."""
    check_result(name, _ROWS[name])


def compat_row(name: str):
    """A fixture for a module whose tests run the program of this row: it is checked after all of them have passed."""

    @pytest.fixture(scope="module", autouse=True)
    def row(request: pytest.FixtureRequest) -> Generator[None]:
        failed = request.session.testsfailed
        yield
        if request.session.testsfailed == failed:
            passed(name)

    return row


def owned(tests: Path) -> set[str]:
    """The rows that tests check."""
    return {name for file in tests.rglob("test_*.py") for name in _OWNS.findall(file.read_text())}


def _short(package: str) -> str:
    return ".".join(version(package).split(".")[:2])


_ROWS = {
    "acp-python": Result(
        program=f"`agent-client-protocol` {_short('agent-client-protocol')} (PyPI), the official ACP client",
        run="`everyagent acp`: turns, permissions, forms, modes, load, fork, restarts",
        outcome="all pass",
    ),
    "acp-typescript": Result(
        program="`@agentclientprotocol/sdk` 2.4.0 (npm), the official ACP client",
        run="`everyagent acp`: a turn, list, load, options, close, delete; every message is checked by its schema",
        outcome="passes",
    ),
    "anthropic-flows": Result(
        program="`anthropic` for Python 2.8.0, 1.17.0, 0.97.0 and npm 1.10.0",
        run="flows over the methods that [managed-agents.md](managed-agents.md) lists, and the SDK's worker",
        outcome="all pass",
    ),
    "claude-code": Result(program="Claude Code", run="drives a session of another agent over `/mcp`", outcome="passes"),
    "cookbook-flows": Result(
        program="calls of the notebooks of Anthropic's cookbook, as flows of our own",
        run="twelve parallel calls, an approval that comes later, pinned versions, outputs, files that come and go; "
        "with `anthropic` for Python 2.8.0, 1.17.0 and 0.97.0",
        outcome="all pass",
    ),
    "httpx-sse": Result(program=f"`httpx-sse` {_short('httpx-sse')}", run="event streams", outcome="passes"),
    "mcp": Result(
        program=f"`mcp` {_short('mcp')} (PyPI), the official MCP client",
        run="a session's custom tools and `/mcp`, over HTTP and stdio, with and without handshake",
        outcome="all pass",
    ),
    "openapi-python-client": Result(
        program="`openapi-python-client` 0.29.1",
        run="a client from `/openapi.json`, and a program that creates, lists, sends, reads events and uploads with it",
        outcome="passes, without a warning; the same for the document of `/anthropic/v1`, whose client is only made",
    ),
    "openapi-typescript": Result(
        program="`openapi-typescript` 7.13.0 with `openapi-fetch`",
        run="types from `/openapi.json`, and a program that creates, lists, sends, reads events and uploads with them",
        outcome="passes",
    ),
    "sandbox-agent-calls": Result(
        program="sandbox-agent 0.1.11",
        run="the calls of every method of its SDK, on a daemon started by `server` with its flags; responses are "
        "decoded by its types",
        outcome="all pass",
    ),
    "schemathesis": Result(
        program=f"`schemathesis` {_short('schemathesis')}",
        run="the OpenAPI document of `/v1`",
        outcome="no failure",
    ),
}
