"""A scripted chat completions API on loopback, for agents that talk to any model: no key, no network, no chance."""

import secrets

import msgspec

from tests.scripted.scripted_chat import ChatScript, Completion, Request, usage
from tests.scripted.scripted_server import HOLD_LIMIT_SECONDS, ScriptedHandler, ScriptedServer

_requests = msgspec.json.Decoder(Request)


class ChatServer(ScriptedServer[Request, Completion]):
    """`with ChatServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    script: ChatScript

    def __init__(self) -> None:
        super().__init__(ChatScript(), _Handler, "/v1")


class _Cut(Exception):
    """The script says that the connection breaks here."""


class _Handler(ScriptedHandler[Request, Completion]):
    def do_GET(self) -> None:
        self.json(404, {"error": {"message": self.path}})

    def do_POST(self) -> None:
        body = self.body()
        if self.path.partition("?")[0].endswith("/chat/completions"):
            self._complete(_requests.decode(body))
        else:
            self.do_GET()

    def _complete(self, request: Request) -> None:
        completion = self.script.take(request)
        failure = completion.failure
        if failure:
            error = {"message": failure.message, "type": failure.code, "code": failure.code}
            self.json(failure.status, {"error": error}, failure.headers)
            return
        self.begin_stream()
        try:
            self._stream(request, completion)
            self.chunk(b"")
        except _Cut:
            self.hang_up()

    def _stream(self, request: Request, completion: Completion) -> None:
        whole = {"id": f"chatcmpl-{secrets.token_hex(8)}", "object": "chat.completion.chunk", "model": request.model}
        self._piece(whole, {"role": "assistant", "content": ""})
        for sent, delta in enumerate(completion.deltas):
            if sent == completion.held:
                completion.release.wait(HOLD_LIMIT_SECONDS)
            if sent == completion.cut:
                raise _Cut
            self._piece(whole, delta)
        self._piece(whole, {}, completion.finish)
        self._event({**whole, "choices": [], "usage": usage()})
        self.chunk(b"data: [DONE]\n\n")

    def _piece(self, whole: dict[str, str], delta: dict[str, object], finish: str | None = None) -> None:
        self._event({**whole, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]})

    def _event(self, event: dict[str, object]) -> None:
        self.chunk(b"data: " + msgspec.json.encode(event) + b"\n\n")
