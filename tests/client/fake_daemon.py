"""A fake daemon with its events in a list and the real HTTP API, which can break connections on request."""

import asyncio
import random
import threading
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from everyagent.model.events import (
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    SessionEnded,
    SessionStarted,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.model.parts import TextPart
from everyagent.model.usage import Usage

TOKEN = "secret"


def envelope(sequence: int, type: str, data: object, session_id: str = "s1") -> bytes:
    return msgspec.json.encode(
        {
            "event_id": f"evt_{sequence}",
            "sequence": sequence,
            "time": "2026-01-01T00:00:00.000000Z",
            "session_id": session_id,
            "native_session_id": None,
            "source": "agent",
            "synthetic": False,
            "type": type,
            "data": data,
            "raw": None,
        }
    )


def message(item_id: str, role: str, text: str) -> Item:
    return msgspec.convert(
        Item(
            item_id=item_id,
            native_item_id=None,
            parent_id=None,
            kind="message",
            role="assistant" if role == "assistant" else "user",
            status="completed",
            content=[TextPart(text=text)],
        ),
        Item,
        from_attributes=True,
    )


async def lost() -> AsyncIterator[bytes]:
    """A response body whose connection breaks."""
    yield b"{"
    raise ConnectionAbortedError


class FakeDaemon:
    """Has one session, `s1`. `cuts` more streams break at a random byte; `refusals` more requests get a 503."""

    def __init__(self, seed: int = 0) -> None:
        self.events: list[bytes] = []
        self.ended = False
        self.cuts = 0
        self.refusals = 0
        self.skips = 0
        self.drops = 0
        self.page_size = 7
        self.connections = 0
        self.requests: list[Request] = []
        self.keys: dict[str, str] = {}
        self.ask_first = False
        self.ask_waits = True
        self.url = ""
        self._chance = random.Random(seed)
        self.add(SessionStarted())

    def add(self, data: EventData) -> None:
        self.events.append(envelope(len(self.events) + 1, data.type, data))
        if isinstance(data, SessionEnded):
            self.ended = True

    def add_text(self, count: int) -> None:
        for number in range(count):
            self.add(
                ItemDelta(item_id="i", native_item_id=None, delta=f"{number} ø\n\r ", content_index=0, kind="text")
            )

    def end(self) -> None:
        self.add(SessionEnded(reason="completed", terminated_by="agent"))

    def take_turn(self, item_id: str, text: str) -> None:
        self.add(TurnStarted(turn_id=f"t_{item_id}", input_item_ids=[item_id]))
        self.add(ItemCompleted(item=message(item_id, "user", text)))
        if self.ask_first:
            self.add(PermissionRequested(permission_id="perm_1", action="bash", status="requested"))
        self.add(ItemStarted(item=message("reply", "assistant", "")))
        self.add(ItemCompleted(item=message("reply", "assistant", f"You said {text}")))
        self.add(TurnEnded(turn_id=f"t_{item_id}", stop_reason="end_turn", usage=Usage(output_tokens=3), cost_usd=0.5))

    def app(self) -> Starlette:
        return Starlette(
            routes=[
                Route("/v1/health", self._health),
                Route("/v1/sessions/s1", self._session),
                Route("/v1/sessions/s1/messages", self._send, methods=["POST"]),
                Route("/v1/sessions/s1/asks", self._asks),
                Route("/v1/sessions/s1/permissions/{ask}/reply", self._reply, methods=["POST"]),
                Route("/v1/sessions/s1/events", self._page),
                Route("/v1/sessions/s1/events/sse", self._tail),
                Route("/v1/events/sse", self._tail),
                Route("/{rest:path}", self._missing, methods=["GET", "POST", "PATCH", "DELETE"]),
            ]
        )

    async def _health(self, request: Request) -> Response:
        if self.drops:
            self.drops -= 1
            return StreamingResponse(lost())
        self.requests.append(request)
        return JSONResponse({"status": "ok", "version": "9", "more": "than we know"})

    async def _missing(self, request: Request) -> Response:
        self.requests.append(request)
        problem = {"status": 404, "code": "session_not_found", "detail": "There is no such session.", "sessionId": "x"}
        return JSONResponse(problem, 404, media_type="application/problem+json")

    async def _session(self, request: Request) -> Response:
        return JSONResponse(
            {
                "sessionId": "s1",
                "agent": "mock",
                "agentMode": "build",
                "permissionMode": "default",
                "model": None,
                "variant": None,
                "nativeSessionId": None,
                "status": "idle",
                "ended": self.ended,
                "eventCount": len(self.events),
                "createdAt": 0,
                "updatedAt": 0,
                "directory": None,
                "title": None,
                "metadata": {},
                "env": [],
                "mcp": {},
                "tools": [],
                "systemPrompt": None,
                "usage": {},
                "costUsd": 0.0,
                "pendingAsks": 0,
                "queuedMessages": 0,
                "forkedFrom": None,
            }
        )

    async def _send(self, request: Request) -> Response:
        """Store the message. The response is lost while `drops` is positive."""
        self.requests.append(request)
        text = msgspec.json.decode(await request.body())["message"]
        key = request.headers["idempotency-key"]
        if key not in self.keys:
            self.keys[key] = f"itm_{len(self.keys)}"
            self.take_turn(self.keys[key], text)
        if self.drops:
            self.drops -= 1
            return StreamingResponse(lost())
        return Response(status_code=204, headers={"x-item-id": self.keys[key]})

    async def _asks(self, request: Request) -> Response:
        ask = {"askId": "perm_1", "kind": "permission", "sessionId": "s1", "sequence": 4, "askedAt": 0}
        ask |= {"pending": True, "request": {}, "answer": None}
        return JSONResponse({"asks": [ask] if self.ask_waits else []})

    async def _reply(self, request: Request) -> Response:
        self.requests.append(request)
        return Response(status_code=204)

    async def _page(self, request: Request) -> Response:
        after = int(request.query_params["offset"])
        page = self.events[after : after + self.page_size]
        more = len(self.events) > after + self.page_size
        body = b'{"events":[' + b",".join(page) + b'],"hasMore":%s,"head":%d}'
        return Response(body % (b"true" if more else b"false", len(self.events)), media_type="application/json")

    async def _tail(self, request: Request) -> Response:
        self.connections += 1
        self.requests.append(request)
        if self.refusals:
            self.refusals -= 1
            return JSONResponse({"code": "unavailable", "detail": "Shutting down."}, 503)
        after = int(request.headers.get("last-event-id") or request.query_params.get("offset", "0"))
        if self.ended and after >= len(self.events):
            return Response(status_code=204)
        return StreamingResponse(self._stream(after), media_type="text/event-stream")

    async def _stream(self, after: int) -> AsyncIterator[bytes]:
        body = b"retry: 1000\n\n: hello\n\n"
        skip = after + 1 if self.skips else -1
        self.skips = max(0, self.skips - 1)
        until = after + 50 if self.cuts else None
        for sequence, event in enumerate(self.events[after:until], after + 1):
            if sequence != skip:
                body += b"id: %d\nevent: message\ndata: %s\n\n" % (sequence, event)
        if not self.cuts:
            yield body
            while not self.ended:
                await asyncio.sleep(0.05)
                yield b": heartbeat\n\n"
            return
        self.cuts -= 1
        end = self._chance.randrange(min(len(body), 3000))
        for start in range(0, end, 97):
            yield body[start : min(start + 97, end)]
        if self._chance.random() < 0.3:
            raise ConnectionAbortedError


@contextmanager
def serving(daemon: FakeDaemon) -> Generator[FakeDaemon]:
    server = uvicorn.Server(uvicorn.Config(daemon.app(), port=0, log_config=None, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
    daemon.url = f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    try:
        yield daemon
    finally:
        server.should_exit = True
        thread.join(10)
