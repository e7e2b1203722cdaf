"""Forwards a command to the node that owns its session: one hop, signed, on behalf of the same principal."""

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack
from typing import Protocol
from urllib.parse import parse_qs

import anyio
import httpx2

from everyagent.api.asgi import ASGIApp, Receive, Scope, Send
from everyagent.api.metrics import Sample
from everyagent.api.request_decoding import decode_query, header, pieces, whole
from everyagent.api.response_sender import ResponseSender
from everyagent.api.routing import Route, Spooled, Upload
from everyagent.api.streaming import Hangup
from everyagent.cluster.signing import HEADER, Forwarded, body_digest, signed, verified
from everyagent.errors import Unauthorized, Unavailable
from everyagent.model.principals import Principal
from everyagent.model.responses import BusStatus

#: The key in the ASGI scope of a `Forwarded`.
FORWARDED = "everyagent.forwarded"
_CONNECT_SECONDS = 3.0
_WATCH_SECONDS = 0.25
#: Headers that belong to one connection, that were checked already, or that this node adds itself.
_REQUEST_ONLY = frozenset(
    (
        *(b"host", b"connection", b"keep-alive", b"transfer-encoding", b"content-length", b"te", b"upgrade", b"expect"),
        *(b"origin", b"cookie", b"authorization", b"x-api-key", b"x-everyagent-workspace", HEADER),
    )
)
_RESPONSE_ONLY = frozenset(
    [b"connection", b"keep-alive", b"transfer-encoding", b"date", b"x-request-id", b"request-id"]
)


class OwningNode(Protocol):
    @property
    def node_id(self) -> str: ...
    @property
    def url(self) -> str: ...


class NodeDescription(OwningNode, Protocol):
    @property
    def name(self) -> str: ...
    @property
    def version(self) -> str: ...
    @property
    def started_at(self) -> int: ...
    @property
    def lease_seconds(self) -> float: ...
    @property
    def live_sessions(self) -> int: ...
    @property
    def lag(self) -> int: ...


class ClusterNode(Protocol):
    """This node, as the API needs it."""

    key: bytes

    @property
    def nodes(self) -> Sequence[NodeDescription]: ...

    @property
    def node_id(self) -> str: ...
    @property
    def ready(self) -> bool: ...
    def bus(self) -> BusStatus: ...
    def database_time(self) -> int: ...
    def living(self, node_id: str, since: float) -> bool: ...
    async def elsewhere(self, session_id: str) -> OwningNode | None: ...


class Forwarder:
    """`held` returns whether a session is in this node's memory: such a request needs no look at the database."""

    def __init__(self, node: ClusterNode, held: Callable[[str], bool], max_body: int, max_upload: int) -> None:
        self.node = node
        self.counts: Counter[str] = Counter()
        self._held = held
        self._max_body = max_body
        self._max_upload = max_upload
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=100)
        self._client = httpx2.AsyncClient(
            timeout=httpx2.Timeout(None, connect=_CONNECT_SECONDS), limits=limits, trust_env=False
        )

    async def close(self) -> None:
        await self._client.aclose()

    def principal(self, scope: Scope) -> Principal | None:
        """The principal of a request that another node forwarded. Raises `Unauthorized` for a false one."""
        given = header(scope, HEADER)
        if given is None:
            return None
        forwarded = verified(
            given,
            self.node.key,
            target=self.node.node_id,
            now=self.node.database_time(),
            method=scope["method"],
            path=_whole_path(scope),
        )
        if forwarded.key != header(scope, b"idempotency-key"):
            raise Unauthorized("The Idempotency-Key of the forwarded request was changed.")
        scope[FORWARDED] = forwarded
        return forwarded.principal

    def check_body(self, scope: Scope, digest: bytes) -> None:
        forwarded: Forwarded | None = scope.get(FORWARDED)
        if forwarded is not None and forwarded.digest != digest.hex():
            raise Unauthorized("The body of the forwarded request was changed.")

    def samples(self) -> Iterable[Sample]:
        nodes = self.node.nodes
        yield Sample("everyagent_cluster_nodes", "gauge", "Nodes of the cluster.", len(nodes))
        for node in nodes:
            labels = {"node": node.name, "node_id": node.node_id}
            lease = "Seconds left of a node's lease at this node's last heartbeat."
            yield Sample("everyagent_node_lease_seconds", "gauge", lease, node.lease_seconds, labels)
            live = "Sessions of a node whose agent is running."
            yield Sample("everyagent_node_live_sessions", "gauge", live, node.live_sessions, labels)
            lag = "Commits of other nodes that a node found before they were announced, at its last heartbeat."
            yield Sample("everyagent_node_lag_commits", "gauge", lag, node.lag, labels)
        bus = self.node.bus()
        labels = {"bus": bus.kind}
        connected = "Whether this node is connected to the bus that carries commits between nodes."
        yield Sample("everyagent_bus_connected", "gauge", connected, bus.connected, labels)
        for outcome, count in (("sent", bus.sent), ("received", bus.received), ("dropped", bus.dropped)):
            messages = "Messages between nodes; those that could not be sent are dropped."
            yield Sample("everyagent_bus_messages", "counter", messages, count, {**labels, "outcome": outcome})
        gaps = "Events of other nodes that were read from the store, because the bus did not bring them."
        yield Sample("everyagent_bus_gaps", "counter", gaps, bus.gaps, labels)
        for outcome, count in self.counts.items():
            labels = {"outcome": outcome}
            yield Sample("everyagent_forwarded_requests", "counter", "Requests passed to other nodes.", count, labels)

    async def owner(self, route: Route, path: dict[str, str], scope: Scope) -> OwningNode | None:
        """The other node that has to answer the request."""
        session_id = session_of(route, path, scope)
        return None if session_id is None else await self.elsewhere(session_id, scope)

    async def elsewhere(self, session_id: str, scope: Scope) -> OwningNode | None:
        """The other node that owns a session. None for a forwarded request, which is not passed on again."""
        if FORWARDED in scope or self._held(session_id):
            return None
        return await self.node.elsewhere(session_id)

    async def forward(
        self,
        owner: OwningNode,
        route: Route,
        scope: Scope,
        receive: Receive,
        principal: Principal,
        sender: ResponseSender,
    ) -> ASGIApp:
        digest: str | None = None
        content: bytes | AsyncIterator[bytes] = b""
        if route.body in (Upload, Spooled):
            content = pieces(scope, receive, self._max_upload)
        elif route.decoder is not None:
            content = await whole(scope, receive, self._max_body)
            digest = body_digest(content)
        forwarded = Forwarded(
            target=owner.node_id,
            at=self.node.database_time(),
            method=scope["method"],
            path=_whole_path(scope),
            principal=principal,
            key=header(scope, b"idempotency-key"),
            digest=digest,
        )
        headers = [(name, value) for name, value in scope["headers"] if name not in _REQUEST_ONLY]
        headers.append((HEADER, signed(forwarded, self.node.key).encode()))
        request = self._client.build_request(
            scope["method"], owner.url.rstrip("/") + _whole_path(scope), headers=headers, content=content
        )
        return ForwardedAnswer(self, owner, request, sender)

    async def post(self, owner: OwningNode, path: str, body: bytes, principal: Principal) -> httpx2.Response:
        """The whole answer of another node to JSON, on behalf of a principal. Raises `Unavailable`."""
        forwarded = Forwarded(
            target=owner.node_id,
            at=self.node.database_time(),
            method="POST",
            path=path,
            principal=principal,
            digest=body_digest(body),
        )
        headers = [(HEADER, signed(forwarded, self.node.key).encode()), (b"content-type", b"application/json")]
        request = self._client.build_request("POST", owner.url.rstrip("/") + path, headers=headers, content=body)
        answer: httpx2.Response | Unavailable = lost()
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.watch, owner, tasks.cancel_scope)
            try:
                answer = await self.send(request)
                await answer.aread()
            except httpx2.TransportError:
                answer = lost()
            except Unavailable as error:
                answer = error
            tasks.cancel_scope.cancel()
        if isinstance(answer, Unavailable):
            raise answer
        return answer

    async def watch(self, owner: OwningNode, answering: anyio.CancelScope) -> None:
        """Cancels what waits for another node when that one is removed from the cluster."""
        began = time.monotonic()
        while self.node.living(owner.node_id, began):
            await anyio.sleep(_WATCH_SECONDS)
        answering.cancel()

    async def send(self, request: httpx2.Request) -> httpx2.Response:
        if self._client.is_closed:  # this node is stopping
            raise unreachable()
        try:
            answer = await self._client.send(request, stream=True)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout) as error:
            self.counts["unreachable"] += 1
            raise unreachable() from error
        except httpx2.TransportError as error:
            self.counts["lost"] += 1
            raise lost() from error
        self.counts["answered"] += 1
        return answer


class ForwardedAnswer:
    """An ASGI response that another node makes. It is cut when that node is removed from the cluster."""

    def __init__(
        self, forwarder: Forwarder, owner: OwningNode, request: httpx2.Request, sender: ResponseSender
    ) -> None:
        self._forwarder = forwarder
        self._owner = owner
        self._request = request
        self._sender = sender

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        failure: Exception | None = lost()
        with Hangup(scope, receive):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._forwarder.watch, self._owner, tasks.cancel_scope)
                try:
                    await self._pass_on(send)
                    failure = None
                except Exception as error:  # noqa: BLE001 - raised below, outside of the task group
                    failure = error
                tasks.cancel_scope.cancel()
            if failure is not None:
                raise failure

    async def _pass_on(self, send: Send) -> None:
        async with AsyncExitStack() as at_the_end:
            answer = await self._forwarder.send(self._request)
            at_the_end.push_async_callback(answer.aclose)
            self._sender.request_id = answer.headers.get("x-request-id", self._sender.request_id)
            headers = [(name.lower(), value) for name, value in answer.headers.raw]
            headers = [(name, value) for name, value in headers if name not in _RESPONSE_ONLY]
            await send({"type": "http.response.start", "status": answer.status_code, "headers": headers})
            async for piece in answer.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def session_of(route: Route, path: dict[str, str], scope: Scope) -> str | None:
    """The session whose owner must answer: for commands, and for files in its directory, such as its outputs."""
    reads = route.method in ("GET", "HEAD")
    if route.path.endswith("/mcp") or (reads and not route.on_owner):  # an agent calls the tools of its own node
        return None
    session_id = path.get("session_id")
    if session_id is not None or not route.on_owner:
        return session_id
    if route.path == "/anthropic/v1/files":
        return parse_qs(scope["query_string"].decode("latin-1")).get("scope_id", [None])[0]
    return getattr(decode_query(scope["query_string"], route.query), "session_id", None)


def unreachable() -> Unavailable:
    return Unavailable(
        "The node that owns the session cannot be reached. Nothing was changed. Try again: another node takes the "
        "session over soon."
    )


def lost() -> Unavailable:
    return Unavailable(
        "The node that owns the session did not answer to the end. It is not known whether the request took effect: "
        "repeat it with the same Idempotency-Key, or read the session."
    )


def _whole_path(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope["query_string"]
    return (raw + (b"?" + query if query else b"")).decode("latin-1")
