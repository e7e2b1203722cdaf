"""Requests that a node of a cluster passes to the owner of a session."""

import pytest

from everyagent.api.forwarding import session_of
from everyagent.api.managed.routes import ROUTES as MANAGED
from everyagent.api.routes import ROUTES as UNIVERSAL
from everyagent.api.routing import Route

V1, MANAGED_V1 = "/v1/sessions/{session_id}", "/anthropic/v1/sessions/{session_id}"
#: What every node reads from the database.
ON_ANY_NODE = {
    *(V1, f"{V1}/messages/queue", f"{V1}/events", f"{V1}/events/sse", f"{V1}/frames", f"{V1}/asks", f"{V1}/export"),
    *(MANAGED_V1, f"{MANAGED_V1}/events", f"{MANAGED_V1}/events/stream", f"{MANAGED_V1}/stream"),
    *(f"{MANAGED_V1}/threads", f"{MANAGED_V1}/threads/{{thread_id}}", f"{MANAGED_V1}/threads/{{thread_id}}/events"),
    f"{MANAGED_V1}/threads/{{thread_id}}/stream",
    *(f"{MANAGED_V1}/resources", f"{MANAGED_V1}/resources/{{resource_id}}"),
}
ALL: dict[str, Route] = {f"{route.method} {route.path}": route for route in (*UNIVERSAL, *MANAGED)}


def forwarded_to(name: str, path: dict[str, str], query: bytes = b"") -> str | None:
    return session_of(ALL[name], path, {"query_string": query})


def test_each_read_of_a_session_is_on_its_owner_or_from_the_database() -> None:
    reads = [route for route in ALL.values() if route.method == "GET" and "{session_id}" in route.path]
    assert {route.path for route in reads if not route.on_owner} == ON_ANY_NODE
    assert all(route.on_owner for route in ALL.values() if route.path.startswith("/v1/fs/"))


@pytest.mark.parametrize("name", [f"GET {V1}/checkpoints", f"GET {V1}/worktree", f"GET {V1}/image", f"POST {V1}/fork"])
def test_the_session_in_the_path_names_the_owner(name: str) -> None:
    assert forwarded_to(name, {"session_id": "one"}) == "one"


@pytest.mark.parametrize("name", ["GET /v1/fs/file", "PUT /v1/fs/file", "DELETE /v1/fs/entry"])
def test_the_session_of_a_file_names_the_owner(name: str) -> None:
    assert forwarded_to(name, {}, b"path=a&sessionId=one") == "one"


def test_other_requests_are_answered_by_any_node() -> None:
    assert forwarded_to("GET /anthropic/v1/files", {}, b"scope_id=one") == "one"
    assert forwarded_to("GET /anthropic/v1/files", {}, b"limit=1") is None
    assert forwarded_to(f"GET {V1}", {"session_id": "one"}) is None
    assert forwarded_to("POST /v1/sessions", {}) is None
    assert forwarded_to(f"POST {V1}/mcp", {"session_id": "one"}) is None
