"""A scripted Responses API on loopback, for agents that use OpenAI's models."""

import secrets

import msgspec

from tests.scripted.model_server import ModelHandler, ModelServer
from tests.scripted.responses_replies import Request, Response, script, usage

_requests = msgspec.json.Decoder(Request)


class ResponsesServer(ModelServer[Request, Response]):
    """`with ResponsesServer() as server: server.script.add(say("Hello."))`; agents are pointed at `server.url`."""

    def __init__(self) -> None:
        super().__init__(script(), _Handler, "/v1")


class _Handler(ModelHandler[Request, Response]):
    endpoint = "/responses"

    def request_of(self, body: bytes) -> Request:
        return _requests.decode(body)

    def do_GET(self) -> None:
        """Refuses websockets (426) and has no list of models (404)."""
        if self.headers.get("upgrade"):
            self.json(426, {"error": {"message": self.path}})
        else:
            super().do_GET()

    def stream(self, request: Request, reply: Response) -> None:
        id = reply.id or f"resp_{secrets.token_hex(8)}"
        head: dict[str, object] = {"id": id, "object": "response", "model": request.model}
        self._typed("response.created", response={**head, "status": "in_progress", "output": []})
        if failure := reply.failure:
            error = {"code": failure.code, "message": failure.message}
            self._typed("response.failed", response={**head, "status": "failed", "error": error})
            return
        sent = 0
        for index, output in enumerate(reply.outputs):
            place = {"output_index": index, "item_id": output.start["id"]}
            self._typed("response.output_item.added", output_index=index, item=output.start)
            for delta in output.deltas:
                self.pace(reply, sent)
                sent += 1
                self._typed(delta.type, **place, **delta.fields)
            self._typed("response.output_item.done", output_index=index, item=output.whole)
        self._typed("response.completed", response={**head, "status": "completed", "output": [], "usage": usage()})

    def _typed(self, type: str, **fields: object) -> None:
        self.event({"type": type, **fields}, type)
