"""A proxy that gives the daemon real ids where the test suites of SDKs send placeholders."""

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2
import msgspec

from everyagent.model.ids import new_id
from everyagent.testing.daemon import NO_TLS, TOKEN
from tests.compat.placeholder_objects import Ids, Objects
from tests.managed.documented import documented
from tests.waiting import LIMIT_SECONDS

#: The placeholder of an id in a path: `sesn_011CZk…`, or the name of the parameter.
_PLACEHOLDER = re.compile(r"[a-z]+_0[0-9A-Za-z]{15,}|[a-z_]+_id|version")
_IDS = re.compile(r"(agent|env|sesn|file|vlt|vcrd)_0[0-9A-Za-z]{15,}")
_KINDS = {"agent": "agents", "env": "environments", "sesn": "sessions", "file": "files", "vlt": "vaults"}
#: Fields whose placeholders have no form of their own.
_FIELDS = {
    "agent": "agents",
    "environment_id": "environments",
    "file_id": "files",
    "memory_store_id": "memory_stores",
    "skill_id": "skills",
    "vault_ids": "vaults",
}
_FAMILIES = {
    *("agents", "environments", "sessions", "vaults", "memory_stores", "skills", "files"),
    *("deployments", "deployment_runs"),
}
#: Placeholders of positions and filters: no list has such a page.
_DROPPED = {("page", "page"), ("after_id", "after_id"), ("before_id", "before_id")}
_HOP = {"connection", "content-length", "transfer-encoding", "host", "authorization", "x-api-key"}


class Mapping:
    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def path(self, method: str, path: str) -> str:
        """The path with ids of one family of objects. A request that changes something gets objects of its own."""
        parts = path.split("/")
        family = next((part for part in parts if part in _FAMILIES), None)
        if family is None or not any(_PLACEHOLDER.fullmatch(part) for part in parts):
            return path
        kind = "claimed work" if parts[-1] == "heartbeat" else "work" if "work" in parts else family
        ids: Ids = self._objects.of(kind, fresh=method != "GET")
        if method == "POST" and "resources" in parts:
            ids = ids | {"resources": ids["repositories"]}  # only a repository has something to update
        named = zip(["", *parts], parts, strict=False)
        return "/".join(ids.get(before, part) if _PLACEHOLDER.fullmatch(part) else part for before, part in named)

    def query(self, query: str) -> str:
        pairs = parse_qsl(query, keep_blank_values=True)
        return urlencode(
            [(name, str(self.value(value, name))) for name, value in pairs if (name, value) not in _DROPPED]
        )

    def value(self, value: object, field: str = "") -> object:
        """A JSON value with real ids. They are those of shared objects."""
        match value:
            case dict():
                members = msgspec.convert(value, dict[str, object])
                return {name: self.value(member, name) for name, member in members.items()}
            case list():
                return [self.value(each, field) for each in msgspec.convert(value, list[object])]
            case str():
                found = _IDS.fullmatch(value)
                kind = (
                    _KINDS.get(found[1]) if found else _FIELDS.get(field) if value in ("string", "x", field) else None
                )
                return self._objects.of(kind, fresh=False)[kind] if kind else value
            case _:
                return value


class Proxy(NamedTuple):
    """Its address, and the answers that the daemon gave: method, path and status."""

    url: str
    answers: set[tuple[str, str, int]]

    def undocumented(self) -> list[tuple[str, str, int]]:
        """Answers whose status the OpenAPI document does not have."""
        known = {(method, path): documented(method, path) for method, path, _ in self.answers}
        return [answer for answer in self.answers if answer[2] not in (known[answer[:2]] or {answer[2]})]


@contextmanager
def id_proxy(daemon: str) -> Generator[Proxy]:
    """A proxy to a daemon's Managed Agents API."""
    answers: set[tuple[str, str, int]] = set()
    objects = Objects(daemon)
    mapping = Mapping(objects)
    client = httpx2.Client(verify=NO_TLS, timeout=LIMIT_SECONDS, limits=httpx2.Limits(max_connections=None))

    class Handler(BaseHTTPRequestHandler):
        def _pass_on(self) -> None:
            parts = urlsplit(self.path)
            path, query = mapping.path(self.command, parts.path), mapping.query(parts.query)
            body = self.rfile.read(int(self.headers.get("content-length") or 0))
            if "json" in (self.headers.get("content-type") or "") and body:
                fields = mapping.value(msgspec.json.decode(body))
                if path.startswith("/v1/environments") and isinstance(fields, dict) and "name" in fields:
                    fields["name"] = new_id("env ")  # no two environments have the same name
                body = msgspec.json.encode(fields)
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP}
            headers |= {"x-api-key": TOKEN, "accept-encoding": "identity"}
            url = f"{daemon}/anthropic{path}" + (f"?{query}" if query else "")
            with client.stream(self.command, url, content=body, headers=headers) as answer:
                answers.add((self.command, f"/anthropic{path}", answer.status_code))
                self.send_response(answer.status_code)
                for name, value in answer.headers.items():
                    if name.lower() not in _HOP:
                        self.send_header(name, value)
                self.send_header("connection", "close")
                self.end_headers()
                try:
                    for piece in answer.iter_raw():
                        self.wfile.write(piece)
                        self.wfile.flush()
                except (ConnectionError, httpx2.TransportError):
                    return  # the client has read what it needs of a stream, or the proxy stops

        do_GET = do_POST = do_DELETE = do_PUT = do_PATCH = _pass_on

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Proxy(f"http://127.0.0.1:{server.server_port}", answers)
        finally:
            server.shutdown()
            client.close()
            objects.close()
