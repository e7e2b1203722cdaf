"""Routes. A route is data, from which requests are dispatched and the OpenAPI document is made.

The annotations of a handler define its input and output: `Call[Query, Body]`, and a struct, a stream or None.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import cached_property
from types import NoneType, UnionType
from typing import (
    TYPE_CHECKING,
    BinaryIO,
    Generic,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import msgspec
from msgspec import UNSET, Struct, UnsetType

from everyagent.api.asgi import Receive
from everyagent.api.asgi import Scope as AsgiScope
from everyagent.api.context import Context
from everyagent.api.idempotency import Key
from everyagent.api.response import Response
from everyagent.api.streaming import EventStream
from everyagent.errors import BadRequest, EveryagentError
from everyagent.model.principals import Scope
from everyagent.sessions import Receipt, Sessions

if TYPE_CHECKING:
    from everyagent.managed import Managed

Method: TypeAlias = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Q = TypeVar("Q")
B = TypeVar("B")
A = TypeVar("A")
T = TypeVar("T")


class Nothing(Struct, frozen=True, forbid_unknown_fields=True):
    """No query parameters, or an empty body."""


class Upload:
    """A body that its handler reads in pieces."""

    def __init__(self, pieces: AsyncIterator[bytes]) -> None:
        self.pieces = pieces


class Spooled:
    """A body in a temporary file, so that its handler can seek in it."""

    def __init__(self, file: BinaryIO) -> None:
        self.file = file


class Call(Generic[Q, B]):
    """A decoded request. `key` is its Idempotency-Key, if it has one.

    `warnings` are sent to the client in a response header.
    """

    __slots__ = ("body", "context", "key", "path", "query", "receive", "scope", "warnings")

    def __init__(
        self,
        context: Context,
        scope: AsgiScope,
        receive: Receive,
        path: dict[str, str],
        query: Q,
        body: B,
        key: Key | None,
        warnings: list[str],
    ) -> None:
        self.context = context
        self.scope = scope
        self.receive = receive
        self.path = path
        self.query = query
        self.body = body
        self.key = key
        self.warnings = warnings

    @property
    def sessions(self) -> Sessions:
        return self.context.sessions

    @property
    def managed(self) -> "Managed":
        if self.context.managed is None:
            raise BadRequest("This server has no Managed Agents API, and so no uploaded files.")
        return self.context.managed()

    def receipt(self, answer: Callable[[T], Response]) -> Callable[[T], Receipt] | None:
        """Makes the receipt to store in one transaction with the effect. None without an Idempotency-Key."""
        key = self.key
        return None if key is None else lambda result: key.receipt(answer(result))


class Encoded(Response, Generic[A]):
    """A JSON response of type `A` that is already encoded."""

    media_type = "application/json"


def encoded(answer: A) -> Encoded[A]:
    return Encoded(msgspec.json.encode(answer))


class NoContent(Response):
    """A 204 response."""

    def __init__(self, headers: dict[str, str] | None = None) -> None:
        super().__init__(status_code=204, headers=headers)


class Accepted(Response):
    """A 202 response without a body."""

    def __init__(self) -> None:
        super().__init__(status_code=202)


class Route(Struct, frozen=True, kw_only=True, dict=True):
    """The annotations of the handler are read when the route is first used: all of them would delay the start.

    `media` are the media types of a response that is not JSON.
    `effect`: the request changes something, so an Idempotency-Key applies. `public`: it needs no token.
    `headers` describes response headers; `takes` are the media types of an uploaded body; `error_media` are further
    media types of error responses.
    `scopes`: a key needs one of them; if there are none, any valid token will do. `turns`: it may begin a turn, which
    costs money. `on_owner`: of a cluster, only the node that owns the session can answer, because it has the session's
    files. Methods other than GET that have a session in their path need no mark.
    """

    method: Method
    path: str
    tag: str
    handler: Callable[[Call[object, object]], Awaitable[object]]
    errors: tuple[type[EveryagentError], ...] = ()
    media: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()
    error_media: tuple[str, ...] = ()
    headers: dict[str, str] = {}
    effect: bool = False
    public: bool = False
    scopes: tuple[Scope, ...] = ()
    turns: bool = False
    on_owner: bool = False

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def query(self) -> type[Struct]:
        return self._input[0]

    @property
    def body(self) -> type[Struct] | type[Upload] | type[Spooled]:
        return self._input[1]

    @cached_property
    def answers(self) -> tuple[object, ...]:
        """The types that the handler may return."""
        return _alternatives(self._hints["return"])

    @property
    def streams(self) -> bool:
        """Whether it answers a GET with a stream of events."""
        return self.method == "GET" and EventStream in self.answers

    @cached_property
    def decoder(self) -> msgspec.json.Decoder[Struct] | None:
        """None if the route has no JSON body."""
        body = self.body
        if self.method in ("GET", "DELETE") or not issubclass(body, Struct):
            return None
        return msgspec.json.Decoder(body)

    @cached_property
    def _input(self) -> tuple[type[Struct], type[Struct] | type[Upload] | type[Spooled]]:
        query, body = get_args(self._hints["call"])
        return query, body

    @cached_property
    def _hints(self) -> dict[str, object]:
        return get_type_hints(self.handler)


class Routes:
    """The routes of one module. Handlers are added by the `add` decorator."""

    def __init__(self, tag: str) -> None:
        self.tag = tag
        self.all: list[Route] = []

    def add(
        self,
        method: Method,
        path: str,
        *errors: type[EveryagentError],
        media: tuple[str, ...] = (),
        takes: tuple[str, ...] = (),
        error_media: tuple[str, ...] = (),
        headers: dict[str, str] | None = None,
        effect: bool = False,
        public: bool = False,
        scope: Scope | tuple[Scope, ...] | UnsetType | None = UNSET,
        turns: bool = False,
        on_owner: bool = False,
    ) -> Callable[[Callable[[Call[Q, B]], Awaitable[A]]], Callable[[Call[Q, B]], Awaitable[A]]]:
        """A GET needs the scope `read`, other methods `run`, unless a `scope` is given; None is for any token."""
        if scope is UNSET:
            scope = "read" if method == "GET" else "run"
        scopes = () if public or not scope else (scope,) if isinstance(scope, str) else scope

        def described(handler: Callable[[Call[Q, B]], Awaitable[A]]) -> Callable[[Call[Q, B]], Awaitable[A]]:
            route = Route(
                method=method,
                path=path,
                tag=self.tag,
                handler=handler,  # pyright: ignore[reportArgumentType]
                errors=errors,
                media=media,
                takes=takes,
                error_media=error_media,
                headers=headers or {},
                effect=effect,
                public=public,
                scopes=scopes,
                turns=turns,
                on_owner=on_owner,
            )
            self.all.append(route)
            return handler

        return described


def _alternatives(hint: object) -> tuple[object, ...]:
    members = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(None if member is NoneType else member for member in members)
