"""Fuzzes all routes: no internal errors, and every response matches the OpenAPI document."""

import re
import threading
from collections.abc import AsyncGenerator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, chdir, contextmanager
from pathlib import Path
from typing import Protocol, cast

import anyio
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import CheckFunction, checks

from everyagent.api.app import create_app
from everyagent.api.context import ApiSettings
from everyagent.api.routes import openapi_document
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.sessions import Sessions
from everyagent.sessions.limits import Limits
from tests.api.fake_sessions import FakeSessions
from tests.api.served import TOKEN, serve_anywhere
from tests.compat.rows import compat_row

row = compat_row("schemathesis")


CHECKS: list[CheckFunction] = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
    checks.negative_data_rejection,
    checks.unsupported_method,
]
HEALTH = [HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large, HealthCheck.large_base_example]
bounded = settings(max_examples=5, suppress_health_check=HEALTH, derandomize=True)


def without_examples(value: object) -> object:
    """Examples have their own test. Requests near them reach runners, and none is connected: a 503 by contract."""
    if isinstance(value, dict):
        return {key: without_examples(each) for key, each in value.items() if key != "example"}
    return [without_examples(each) for each in value] if isinstance(value, list) else value


schema = schemathesis.openapi.from_dict(cast("dict[str, object]", without_examples(openapi_document())))
schema.config.generation.update(max_examples=5)
listings = schema.exclude(path_regex="/sse$|/stream$")
streams = schema.include(path_regex="/sse$|/stream$")


class Case(Protocol):
    def call_and_validate(
        self, base_url: str, *, headers: dict[str, str], checks: list[CheckFunction], timeout: float
    ) -> object: ...


def sometimes(session_id: object) -> bool:
    """Keep ids that must be refused."""
    return (
        isinstance(session_id, str) and bool(re.fullmatch(r"[\w.~:-]{1,128}", session_id)) and len(session_id) % 2 == 1
    )


@schemathesis.hook
def map_path_parameters(context: object, path_parameters: dict[str, str] | None) -> dict[str, str] | None:
    """Use an existing session in half of the requests."""
    if path_parameters and sometimes(path_parameters.get("session_id")):
        path_parameters["session_id"] = "known"
    return path_parameters


@schemathesis.hook
def map_query(context: object, query: dict[str, object] | None) -> dict[str, object] | None:
    if query and sometimes(query.get("sessionId")):
        query["sessionId"] = "known"
    return query


@schemathesis.hook
def map_body(context: object, body: object) -> object:
    """Keep sessions in the test's directory, so that no files are written elsewhere."""
    if isinstance(body, dict):
        body.pop("directory", None)
    return body


@schemathesis.serializer("application/x-tar", "application/gzip", "application/x-gzip")
def as_it_is(context: object, value: object) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode()


@asynccontextmanager
async def fake_sessions(directory: Path) -> AsyncGenerator[Sessions]:
    sessions = FakeSessions(directory)
    sessions.endless = False
    yield cast(Sessions, sessions)


def real_sessions(directory: Path) -> AbstractAsyncContextManager[Sessions]:
    data = Settings(data_dir=directory.parent / "data", default_agent="mock")
    return sessions_of(data, limits=Limits())


@contextmanager
def running(
    directory: Path, behind: Callable[[Path], AbstractAsyncContextManager[Sessions]]
) -> Generator[tuple[str, Path]]:
    """A server in its own thread. Yields its address and the directory of its sessions."""
    directory.mkdir()
    ready = threading.Event()
    found: list[int] = []
    stop: list[Callable[[], None]] = []

    def listening(port: int) -> None:
        found.append(port)
        ready.set()

    async def run() -> None:
        async with behind(directory) as sessions, anyio.create_task_group() as tasks:
            token = anyio.lowlevel.current_token()
            stop.append(lambda: anyio.from_thread.run_sync(tasks.cancel_scope.cancel, token=token))
            app = create_app(sessions, ApiSettings(token=TOKEN, max_upload=1 << 20))
            tasks.start_soon(serve_anywhere, app, listening)

    thread = threading.Thread(target=anyio.run, args=(run,))
    with chdir(directory):  # where sessions are that name no directory
        thread.start()
        assert ready.wait(30)
    yield f"http://127.0.0.1:{found[0]}", directory
    stop[0]()
    thread.join(30)
    assert not thread.is_alive()


@pytest.fixture(scope="module")
def fake(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with running(tmp_path_factory.mktemp("fake") / "project", fake_sessions) as served:
        yield served


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    with running(tmp_path_factory.mktemp("real") / "project", real_sessions) as served:
        yield served


def hold(case: Case, served: tuple[str, Path]) -> None:
    url, directory = served
    headers = {"x-api-key": TOKEN}
    made = requests.post(f"{url}/v1/sessions/known", json={"directory": str(directory)}, headers=headers, timeout=30)
    assert made.status_code in (200, 409)
    case.call_and_validate(base_url=url, headers=headers, checks=CHECKS, timeout=30)


@streams.parametrize()
@bounded
def test_streams_match_the_openapi_document(case: Case, fake: tuple[str, Path]) -> None:
    hold(case, fake)


@listings.parametrize()
@bounded
def test_every_other_route_matches_the_openapi_document(case: Case, real: tuple[str, Path]) -> None:
    hold(case, real)
