"""The Managed Agents API for the application: routes, request decoding, and errors."""

from msgspec import Struct

from everyagent.api.managed import reading
from everyagent.api.managed.errors import error_response
from everyagent.api.managed.routes import ROUTES
from everyagent.api.response import Response
from everyagent.api.router import Router
from everyagent.api.routing import Route
from everyagent.errors import EveryagentError
from everyagent.managed import Managed


class ManagedFace:
    def __init__(self, managed: Managed) -> None:
        self.managed = managed
        self.router = Router(ROUTES, "/anthropic/openapi.json")

    def query(self, raw: bytes, route: Route, ignored: list[str]) -> Struct:
        return reading.read_query(raw, route.query, ignored)

    def body(self, raw: bytes, route: Route, ignored: list[str]) -> object:
        assert isinstance(route.body, type)
        assert issubclass(route.body, Struct)
        return reading.read_body(raw, route.body, ignored)

    def error_response(self, error: EveryagentError, request_id: str) -> Response:
        return error_response(error, request_id)
