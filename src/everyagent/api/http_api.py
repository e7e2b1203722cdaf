"""What differs between the faces of one server: how each reads requests, and how it tells of errors."""

from typing import Protocol

from msgspec import Struct
from starlette.responses import Response

from everyagent.api import request_decoding
from everyagent.api.problems import problem_response
from everyagent.api.routing import Route, Router
from everyagent.errors import EveryagentError


class HttpApi(Protocol):
    """What a reader passes over, since it does not know it, it adds to `ignored`: the client is told."""

    @property
    def router(self) -> Router: ...
    def query(self, raw: bytes, route: Route, ignored: list[str]) -> Struct: ...
    def body(self, raw: bytes, route: Route, ignored: list[str]) -> object: ...
    def error_response(self, error: EveryagentError, request_id: str) -> Response: ...


class UniversalApi:
    """`/v1` and everything beside it: an unknown field is an error, errors are RFC 9457 problems."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def query(self, raw: bytes, route: Route, ignored: list[str]) -> Struct:
        return request_decoding.decode_query(raw, route.query)

    def body(self, raw: bytes, route: Route, ignored: list[str]) -> object:
        assert route.decoder
        return request_decoding.decode_json(raw, route.decoder)

    def error_response(self, error: EveryagentError, request_id: str) -> Response:
        return problem_response(error, request_id)
