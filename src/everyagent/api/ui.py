"""Serves the files of the inspector under `/ui/`. They contain no secrets and need no token."""

from functools import lru_cache
from pathlib import Path

from everyagent.api.asgi import Scope
from everyagent.api.request_decoding import header
from everyagent.api.response import Response, redirect
from everyagent.errors import MethodNotAllowed, NotFound, Unavailable

FILES = Path(__file__).parent.parent / "inspector"
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "worker-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types dompurify inspector",
    )
)
_HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "vary": "accept-encoding",
}
_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_ENCODINGS = (("br", ".br"), ("gzip", ".gz"))
#: File names below it contain a hash of the content.
_HASHED = "assets/"


def is_inspector_path(path: str) -> bool:
    return path in ("/", "/ui") or path.startswith("/ui/")


def answer(scope: Scope) -> Response:
    path: str = scope["path"]
    if scope["method"] not in ("GET", "HEAD"):
        raise MethodNotAllowed(f"{path} does not support {scope['method']}. It supports GET.", allow=["GET", "HEAD"])
    if not path.startswith("/ui/"):
        return redirect(f"{scope['root_path']}/ui/", 307)
    found = _files()
    if not found:
        raise Unavailable(
            "This installation has no inspector. In a checkout, build it with `make inspector`; "
            "released packages include it."
        )
    name = path.removeprefix("/ui/") or "index.html"
    if name not in found or Path(name).suffix not in _TYPES:
        raise NotFound(f"The inspector has no file {name!r}. Its start page is /ui/.", path=path)
    return _file(name, found, header(scope, b"accept-encoding") or "")


def _file(name: str, found: frozenset[str], accepted: str) -> Response:
    offered = {each.partition(";")[0].strip() for each in accepted.split(",")}
    encoding, suffix = next(
        ((encoding, suffix) for encoding, suffix in _ENCODINGS if encoding in offered and name + suffix in found),
        (None, ""),
    )
    headers = {
        **_HEADERS,
        "content-type": _TYPES[Path(name).suffix],
        "cache-control": "public, max-age=31536000, immutable" if name.startswith(_HASHED) else "no-cache",
    }
    if encoding:
        headers["content-encoding"] = encoding
    return Response((FILES / (name + suffix)).read_bytes(), headers=headers)


@lru_cache(maxsize=1)
def _names(built: int) -> frozenset[str]:
    return frozenset(path.relative_to(FILES).as_posix() for path in FILES.rglob("*") if path.is_file())


def _files() -> frozenset[str]:
    """The names of the built files, read again after each build."""
    index = FILES / "index.html"
    return _names(index.stat().st_mtime_ns) if index.is_file() else frozenset()
