"""A scripted Amp server on loopback, for Amp's own program.

It implements as much of Amp's private protocol as the pinned version of the program needs.
"""

import time
import urllib.parse
import uuid

import msgspec
from msgspec import Struct

from tests.scripted.amp_replies import AmpScript
from tests.scripted.amp_thread import AmpThread, Json
from tests.scripted.model_server import JsonHandler, LoopbackServer
from tests.scripted.websocket import WebSocket, accept_key

#: The only API key that the server refuses.
BAD_KEY = "sgamp_bad"


class Params(Struct, frozen=True):
    thread: str = ""
    archived: bool = False
    labels: list[str] = []


class AmpCall(Struct, frozen=True):
    """A request of the program; only the fields that the server reads."""

    method: str = ""
    params: Params = Params()
    threadId: str | None = None
    agentMode: str | None = None


_calls = msgspec.json.Decoder(AmpCall)


class AmpServer(LoopbackServer):
    """`with AmpServer() as server: server.script.add(say("Hello."))`; Amp is pointed at `server.url` by AMP_URL."""

    def __init__(self, port: int = 0) -> None:
        super().__init__(_Handler, self, port)
        self.script = AmpScript()
        self.threads: dict[str, AmpThread] = {}

    def release(self) -> None:
        self.script.release_all()

    def hang_up(self) -> None:
        for thread in self.threads.values():
            thread.hang_up()

    def thread(self, id: str, mode: str = "medium") -> AmpThread:
        return self.threads.setdefault(id, AmpThread(id, mode, self.script))


class _Handler(JsonHandler):
    @property
    def amp(self) -> AmpServer:
        assert isinstance(self.owner, AmpServer)
        return self.owner

    def do_GET(self) -> None:
        if self.headers.get("upgrade", "").lower() == "websocket":
            self._upgrade()
        else:
            self.json(404, {"error": self.path})

    def do_POST(self) -> None:
        body = self.body()
        try:
            call = _calls.decode(body)
        except msgspec.MsgspecError:
            call = AmpCall()
        match urllib.parse.urlsplit(self.path).path:
            case "/api/internal":
                self.json(200, self._internal(call))
            case "/api/thread-actors" if self._refused:
                self.json(401, {"error": "Unauthorized"})
            case "/api/thread-actors":
                self.json(200, self._actor(call))
            case _:
                self.json(200, {"ok": True, "result": {}})

    @property
    def _refused(self) -> bool:
        return BAD_KEY in self.headers.get("authorization", "")

    def _internal(self, call: AmpCall) -> Json:
        if self._refused:
            return {"ok": False, "error": {"code": "auth-required", "message": "Unauthorized"}}
        thread = self.amp.threads.get(call.params.thread)
        result: object = {}
        match call.method:
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
                result = {"thread": {"data": about}, "messages": thread.messages, "hasMoreBefore": False}
            case "archiveThread" if thread:
                thread.archived = call.params.archived
            case "addThreadLabels":
                result = [{"name": label} for label in call.params.labels]
            case _:
                result = {}
        return {"ok": True, "result": result}

    def _actor(self, call: AmpCall) -> Json:
        id = call.threadId or f"T-{uuid.uuid4()}"
        thread = self.amp.thread(id, call.agentMode or "medium")
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
        self.amp.thread(query["rvt-key"][0]).serve(WebSocket(self.rfile, self.connection))
