"""A request to the daemon as a value: what to send, and how to decode the response."""

from collections.abc import Callable, Mapping
from typing import Generic, NamedTuple, TypeVar
from urllib.parse import quote

import msgspec
from msgspec import Struct

from everyagent.client.errors import ClientError
from everyagent.model.ids import new_id

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)

Param = str | int | bool | None


class ApiResponse(NamedTuple):
    """The parts of a successful response that calls decode. Header names are lower case."""

    body: bytes
    headers: Mapping[str, str]


class ApiCall(Struct, Generic[T_co], frozen=True, kw_only=True):
    """`key` is an Idempotency-Key, which makes a POST safe to repeat; `timeout` None is the client's default."""

    method: str
    path: str
    decode: Callable[[ApiResponse], T_co]
    params: dict[str, str] = {}
    body: bytes | None = None
    media: str = "application/json"
    key: str | None = None
    timeout: float | None = None

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice has the effect and the response of sending it once."""
        return self.method == "GET" or self.key is not None

    def headers(self) -> dict[str, str]:
        headers: dict[str, str] = {}
        if self.body is not None:
            headers["content-type"] = self.media
        if self.key is not None:
            headers["idempotency-key"] = self.key
        return headers


def path(*parts: str) -> str:
    """`/v1/` and the URL-quoted parts. Raises `ClientError`: a server reads a quoted slash as the end of a part."""
    for part in parts:
        if "/" in part or part in ("", ".", ".."):
            raise ClientError(f"{part!r} is not an id: ids are letters, digits and . _ ~ : -")
    return "/v1/" + "/".join(quote(part, safe=":~") for part in parts)


def params(**given: Param) -> dict[str, str]:
    """Query parameters, without those that are None."""
    texts: dict[str, str] = {}
    for name, value in given.items():
        match value:
            case None:
                continue
            case bool():
                texts[name] = "true" if value else "false"
            case _:
                texts[name] = str(value)
    return texts


def decoded(shape: type[T]) -> Callable[[ApiResponse], T]:
    decoder = msgspec.json.Decoder(shape)
    return lambda response: decoder.decode(response.body)


def nothing(response: ApiResponse) -> None:
    """The decoder of responses without a body."""


def get(path: str, decode: Callable[[ApiResponse], T], params: dict[str, str] | None = None) -> ApiCall[T]:
    return ApiCall(method="GET", path=path, decode=decode, params=params or {})


def post(
    path: str,
    decode: Callable[[ApiResponse], T],
    body: object = None,
    *,
    key: str | None = None,
    params: dict[str, str] | None = None,
    timeout: float | None = None,
) -> ApiCall[T]:
    """A POST with an Idempotency-Key, so that it can be repeated after the connection broke."""
    return ApiCall(
        method="POST",
        path=path,
        decode=decode,
        params=params or {},
        body=msgspec.json.encode({} if body is None else body),
        key=key or new_id("key_"),
        timeout=timeout,
    )
