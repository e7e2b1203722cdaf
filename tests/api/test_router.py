"""The router finds the route of every path that the APIs have, and says what is wrong with others."""

import re

import pytest

from everyagent.api.managed.routes import ROUTES as MANAGED
from everyagent.api.router import Router
from everyagent.api.routes import ROUTES
from everyagent.api.routing import Call, NoContent, Nothing, Route, Routes
from everyagent.errors import MethodNotAllowed, NotFound

_table = Routes("test")


@_table.add("GET", "/things/{thing}")
@_table.add("GET", "/things/new")
@_table.add("POST", "/things/{item}/parts/{part}")
@_table.add("GET", "/things/new/parts")
@_table.add("GET", "/models/{model:path}")
async def handler(call: Call[Nothing, Nothing]) -> NoContent:
    return NoContent()


def _router() -> Router:
    return Router(_table.all)


@pytest.mark.parametrize("route", [*ROUTES, *MANAGED], ids=lambda route: f"{route.method} {route.path}")
def test_every_route_is_found_by_its_path(route: Route) -> None:
    names = re.findall(r"\{(\w+)(?::path)?\}", route.path)
    path = re.sub(r"\{(\w+)(?::path)?\}", r"a value of \1", route.path)
    found, parameters = Router([*ROUTES, *MANAGED]).find(route.method, path)
    assert found is route
    assert parameters == {name: f"a value of {name}" for name in names}


def test_a_literal_segment_is_preferred_whichever_was_added_first() -> None:
    assert _router().find("GET", "/things/new")[0].path == "/things/new"
    assert _router().find("GET", "/things/old") == (_route("/things/{thing}"), {"thing": "old"})


def test_a_path_that_leaves_a_literal_is_tried_with_the_parameter() -> None:
    route, parameters = _router().find("POST", "/things/new/parts/7")
    assert (route.path, parameters) == ("/things/{item}/parts/{part}", {"item": "new", "part": "7"})


def test_the_rest_of_a_path_may_have_slashes_and_be_empty() -> None:
    assert _router().find("GET", "/models/openai/gpt")[1] == {"model": "openai/gpt"}
    assert _router().find("GET", "/models/")[1] == {"model": ""}


@pytest.mark.parametrize(
    "path", ["/", "", "/things", "/things/", "/things/a/", "/things//parts/b", "things/a", "/models"]
)
def test_a_path_without_a_route_is_refused(path: str) -> None:
    with pytest.raises(NotFound) as refused:
        _router().find("GET", path)
    assert refused.value.detail == f"There is no route {path}. GET /openapi.json lists all routes."


def test_another_method_is_refused_with_those_that_are_supported() -> None:
    with pytest.raises(MethodNotAllowed) as refused:
        _router().find("DELETE", "/things/old")
    assert refused.value.detail == "/things/old does not support DELETE. It supports GET, HEAD."


def test_head_is_answered_by_get_unless_it_streams() -> None:
    assert Router(ROUTES).find("HEAD", "/v1/health")[0].method == "GET"
    with pytest.raises(MethodNotAllowed):
        Router(ROUTES).find("HEAD", "/v1/events/sse")


def _route(path: str) -> Route:
    return next(route for route in _table.all if route.path == path)
