"""Finds the route of a request by the segments of its path."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from everyagent.api.routing import Route
from everyagent.errors import MethodNotAllowed, NotFound

#: The end of a parameter that takes the rest of the path: `{name:path}`.
_REST = ":path}"


class Router:
    """The routes as a tree of segments. A literal segment is preferred to a parameter, whichever was added first.

    `document` is the path of the OpenAPI document, which the 404 names.
    """

    def __init__(self, routes: Iterable[Route], document: str = "/openapi.json") -> None:
        self._document = document
        self._root = _Node()
        for route in routes:
            self._root.add(route)

    def find(self, method: str, path: str) -> tuple[Route, dict[str, str]]:
        found = self._root.find(path.split("/"), 0)
        if found is None:
            raise NotFound(f"There is no route {path}. GET {self._document} lists all routes.", path=path)
        methods, values = found
        route = methods.get("GET" if method == "HEAD" else method)
        if route is None or (method == "HEAD" and route.streams):
            allow = sorted(_allowed(methods))
            raise MethodNotAllowed(f"{path} does not support {method}. It supports {', '.join(allow)}.", allow=allow)
        return route, dict(zip(_parameters(route.path), values, strict=True))


class _Found(NamedTuple):
    methods: dict[str, Route]
    values: list[str]


class _Node:
    """One segment of paths. `methods` are the routes that end here, `rest` those that take the rest of the path."""

    __slots__ = ("literals", "methods", "parameter", "rest")

    def __init__(self) -> None:
        self.literals: dict[str, _Node] = {}
        self.parameter: _Node | None = None
        self.methods: dict[str, Route] = {}
        self.rest: dict[str, Route] = {}

    def add(self, route: Route) -> None:
        node = self
        for segment in route.path.split("/"):
            if segment.endswith(_REST):
                node.rest[route.method] = route
                return
            if segment.startswith("{"):
                node.parameter = node = node.parameter or _Node()
            else:
                node = node.literals.setdefault(segment, _Node())
        node.methods[route.method] = route

    def find(self, segments: Sequence[str], position: int) -> _Found | None:
        if position == len(segments):
            return _Found(self.methods, []) if self.methods else None
        segment = segments[position]
        literal = self.literals.get(segment)
        if literal is not None and (found := literal.find(segments, position + 1)):
            return found
        if self.parameter is not None and segment and (found := self.parameter.find(segments, position + 1)):
            found.values.insert(0, segment)
            return found
        return _Found(self.rest, ["/".join(segments[position:])]) if self.rest else None


def _parameters(path: str) -> list[str]:
    return [segment[1:-1].removesuffix(":path") for segment in path.split("/") if segment.startswith("{")]


def _allowed(methods: dict[str, Route]) -> set[str]:
    get = methods.get("GET")
    return set(methods) | ({"HEAD"} if get is not None and not get.streams else set())
