"""The interface of the APIs that the server offers: their routes, request decoding and error format."""

from typing import Protocol

from msgspec import Struct

from everyagent.api import request_decoding
from everyagent.api.problems import problem_response
from everyagent.api.response import Response
from everyagent.api.router import Router
from everyagent.api.routing import Route
from everyagent.errors import EveryagentError


class HttpApi(Protocol):
    """Unknown fields that `query` and `body` skip are added to `ignored`; a response header lists them."""

    @property
    def router(self) -> Router: ...
    def query(self, raw: bytes, route: Route, ignored: list[str]) -> Struct: ...
    def body(self, raw: bytes, route: Route, ignored: list[str]) -> object: ...
    def error_response(self, error: EveryagentError, request_id: str) -> Response: ...


class UniversalApi:
    """The universal API under `/v1`: unknown fields are errors, and errors are RFC 9457 problems."""

    def __init__(self, router: Router) -> None:
        self.router = router

    def query(self, raw: bytes, route: Route, ignored: list[str]) -> Struct:
        return request_decoding.decode_query(raw, route.query)

    def body(self, raw: bytes, route: Route, ignored: list[str]) -> object:
        assert route.decoder
        return request_decoding.decode_json(raw, route.decoder)

    def error_response(self, error: EveryagentError, request_id: str) -> Response:
        return problem_response(error, request_id)
