"""A scripted Responses API on loopback, for agents that talk to OpenAI's models: no key, no network, no chance."""

import secrets

import msgspec

from tests.scripted import scripted_responses
from tests.scripted.scripted_responses import Request, Response, usage
from tests.scripted.scripted_server import HOLD_LIMIT_SECONDS, ScriptedHandler, ScriptedServer

_requests = msgspec.json.Decoder(Request)


class ResponsesServer(ScriptedServer[Request, Response]):
    """`with ResponsesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        super().__init__(scripted_responses.script(), _Handler, "/v1")


class _Cut(Exception):
    """The script says that the connection breaks here."""


class _Handler(ScriptedHandler[Request, Response]):
    def do_GET(self) -> None:
        """No websockets, no list of models."""
        status = 426 if self.headers.get("upgrade") else 404
        self.json(status, {"error": {"message": self.path}})

    def do_POST(self) -> None:
        body = self.body()
        if self.path.partition("?")[0].endswith("/responses"):
            self._respond(_requests.decode(body))
        else:
            self.do_GET()

    def _respond(self, request: Request) -> None:
        response = self.script.take(request)
        failure = response.failure
        if failure and failure.status != 200:
            error = {"message": failure.message, "type": failure.code, "code": failure.code}
            self.json(failure.status, {"error": error}, failure.headers)
            return
        self.begin_stream()
        try:
            self._stream(request, response)
            self.chunk(b"")
        except _Cut:
            self.hang_up()

    def _stream(self, request: Request, response: Response) -> None:
        whole: dict[str, object] = {"id": f"resp_{secrets.token_hex(8)}", "object": "response", "model": request.model}
        self._event("response.created", response={**whole, "status": "in_progress", "output": []})
        if failure := response.failure:
            error = {"code": failure.code, "message": failure.message}
            self._event("response.failed", response={**whole, "status": "failed", "error": error})
            return
        sent = 0
        for index, output in enumerate(response.outputs):
            place = {"output_index": index, "item_id": output.start["id"]}
            self._event("response.output_item.added", output_index=index, item=output.start)
            for delta in output.deltas:
                if sent == response.held:
                    response.release.wait(HOLD_LIMIT_SECONDS)
                if sent == response.cut:
                    raise _Cut
                sent += 1
                self._event(delta.type, **place, **delta.fields)
            self._event("response.output_item.done", output_index=index, item=output.whole)
        self._event("response.completed", response={**whole, "status": "completed", "output": [], "usage": usage()})

    def _event(self, type: str, **fields: object) -> None:
        self.chunk(f"event: {type}\ndata: ".encode() + msgspec.json.encode({"type": type, **fields}) + b"\n\n")
