"""A response whose body is in memory."""

from collections.abc import Mapping
from typing import Literal
from urllib.parse import quote

from everyagent.api.asgi import Receive, Scope, Send

_BODILESS = frozenset({204, 304})


class Response:
    """`raw_headers` are the headers as they are sent."""

    media_type: str | None = None

    def __init__(
        self,
        content: bytes = b"",
        status_code: int = 200,
        headers: Mapping[str, str] | None = None,
        media_type: str | None = None,
    ) -> None:
        self.body = content
        self.status_code = status_code
        named = {name.lower(): value for name, value in (headers or {}).items()}
        if status_code not in _BODILESS:
            named.setdefault("content-length", str(len(content)))
        if kind := media_type or self.media_type:
            named.setdefault("content-type", kind)
        self.raw_headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named.items()]

    @property
    def headers(self) -> dict[str, str]:
        return {name.decode("latin-1"): value.decode("latin-1") for name, value in self.raw_headers}

    def set_cookie(
        self, name: str, value: str, seconds: int, *, path: str, same_site: Literal["lax", "strict"], secure: bool
    ) -> None:
        """Set a cookie that scripts cannot read; 0 seconds delete it. `value` has no separators."""
        cookie = f"{name}={value}; HttpOnly; Max-Age={seconds}; Path={path}; SameSite={same_site}"
        self.raw_headers.append((b"set-cookie", (cookie + "; Secure" * secure).encode("ascii")))

    async def __call__(self, _scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        await send({"type": "http.response.body", "body": self.body})


def redirect(address: str, status_code: int = 302) -> Response:
    return Response(status_code=status_code, headers={"location": quote(address, safe=":/%#?=@[]!$&'()*+,;")})
