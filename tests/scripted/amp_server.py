"""A scripted Amp server on loopback, for Amp's own program: no key, no network, no chance.

The wire between them is private to Amp: this speaks it as the pinned version of the program does.
"""

import threading
import time
import urllib.parse
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

import msgspec
from msgspec import Struct

from tests.scripted.amp_thread import AmpThread, Json
from tests.scripted.scripted_turns import Script
from tests.scripted.websocket import WebSocket, accept_key

#: The key that is refused; any other will do.
BAD_KEY = "sgamp_bad"


class Params(Struct, frozen=True):
    thread: str = ""
    archived: bool = False
    labels: list[str] = []


class Asked(Struct, frozen=True):
    """Of all that the program asks its server, as far as it is read here."""

    method: str = ""
    params: Params = Params()
    threadId: str | None = None
    agentMode: str | None = None


_asked = msgspec.json.Decoder(Asked)


class AmpServer:
    """`with AmpServer() as server: server.script.add(say("Hello."))`; Amp is pointed at `server.url` by AMP_URL."""

    def __init__(self, port: int = 0) -> None:
        self.script = Script()
        self.threads: dict[str, AmpThread] = {}
        self._http = _Http(("127.0.0.1", port), _Handler)
        self._http.amp = self
        self.port = int(self._http.server_address[1])
        self.url = f"http://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)

    def __enter__(self) -> "AmpServer":
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.script.release_all()
        self._http.shutdown()
        for thread in self.threads.values():
            thread.hang_up()
        self._http.server_close()
        self._thread.join()

    def thread(self, id: str, mode: str = "medium") -> AmpThread:
        return self.threads.setdefault(id, AmpThread(id, mode, self.script))


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    amp: AmpServer

    def handle_error(self, request: object, client_address: object) -> None:
        """A program that is killed in the middle of a request is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Http  # pyright: ignore[reportIncompatibleVariableOverride]

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: tests print enough."""

    def do_GET(self) -> None:
        if self.headers.get("upgrade", "").lower() == "websocket":
            self._upgrade()
        else:
            self._json(404, {"error": self.path})

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        try:
            asked = _asked.decode(body)
        except msgspec.MsgspecError:
            asked = Asked()
        match urllib.parse.urlsplit(self.path).path:
            case "/api/internal":
                self._json(200, self._internal(asked))
            case "/api/thread-actors" if self._refused:
                self._json(401, {"error": "Unauthorized"})
            case "/api/thread-actors":
                self._json(200, self._actor(asked))
            case _:
                self._json(200, {"ok": True, "result": {}})

    @property
    def _refused(self) -> bool:
        return BAD_KEY in self.headers.get("authorization", "")

    def _internal(self, asked: Asked) -> Json:
        if self._refused:
            return {"ok": False, "error": {"code": "auth-required", "message": "Unauthorized"}}
        thread = self.server.amp.threads.get(asked.params.thread)
        result: object = {}
        match asked.method:
            case "getUserInfo":
                who = {"id": "user_1", "email": "ann@example.com", "username": "ann", "emailVerified": True}
                result = {**who, "features": [], "team": None, "siteAdmin": False}
            case "loadSkills":
                result = {"sources": []}
            case "loadPlugins":
                result = []
            case "getThreadTail" if thread is None:
                return {"ok": False, "error": {"code": "thread-not-found", "message": "thread not found"}}
            case "getThreadTail" if thread:
                about: Json = {"id": thread.id, "v": thread.version, "version": thread.version, "title": "A thread"}
                about |= {"created": int(time.time() * 1000), "agentMode": thread.mode, "archived": thread.archived}
                result = {"thread": {"data": about}, "messages": thread.said, "hasMoreBefore": False}
            case "archiveThread" if thread:
                thread.archived = asked.params.archived
            case "addThreadLabels":
                result = [{"name": label} for label in asked.params.labels]
            case _:
                result = {}
        return {"ok": True, "result": result}

    def _actor(self, asked: Asked) -> Json:
        id = asked.threadId or f"T-{uuid.uuid4()}"
        thread = self.server.amp.thread(id, asked.agentMode or "medium")
        actor: Json = {"threadId": id, "wsToken": "token", "ownerUserId": "user_1", "executorType": "local-client"}
        version: Json = {"threadVersion": thread.version, "agentMode": thread.mode}
        return {**actor, **version, "usesDtw": False, "usesThreadActors": True}

    def _upgrade(self) -> None:
        query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
        offered = [word.strip() for word in self.headers.get("sec-websocket-protocol", "").split(",") if word.strip()]
        self.send_response(101)
        self.send_header("upgrade", "websocket")
        self.send_header("connection", "Upgrade")
        self.send_header("sec-websocket-accept", accept_key(self.headers["sec-websocket-key"]))
        if offered:
            self.send_header("sec-websocket-protocol", offered[0])
        self.end_headers()
        self.close_connection = True
        self.server.amp.thread(query["rvt-key"][0]).serve(WebSocket(self.rfile, self.connection))

    def _json(self, status: int, answer: Json) -> None:
        body = msgspec.json.encode(answer)
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
