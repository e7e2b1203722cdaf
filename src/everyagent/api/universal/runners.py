"""Routes of runners and their keys, and the routes that runners use, which are signed."""

from typing import TYPE_CHECKING

from everyagent.api import request_decoding
from everyagent.api.asgi import Receive, Scope, Send
from everyagent.api.response import Response
from everyagent.api.routing import Call, Encoded, Nothing, Routes, Upload, encoded
from everyagent.api.streaming import Hangup
from everyagent.errors import BadRequest, NotFound, RunnerKeyInvalid, SignatureInvalid, StorageFull, Unavailable
from everyagent.model.principals import DAEMON, set_current
from everyagent.model.runners import (
    Acknowledged,
    CreateRunnerKey,
    NewRunnerKey,
    RunnerKeyInfo,
    RunnerKeyList,
    RunnerList,
)
from everyagent.sessions import Sessions

if TYPE_CHECKING:
    from everyagent.remote.connection import RunnerConnection
    from everyagent.remote.runners import Runners

routes = Routes("runners")
_BYTES = ("application/octet-stream",)


@routes.add("GET", "/v1/runners")
async def list_runners(call: Call[Nothing, Nothing]) -> RunnerList:
    """List the runners that are connected, or were since the daemon started; in a cluster, to the node that answers."""
    return RunnerList(runners=call.sessions.services.runners.infos())


@routes.add("GET", "/v1/runner-keys", scope="admin")
async def list_runner_keys(call: Call[Nothing, Nothing]) -> RunnerKeyList:
    """List the keys of runners, newest first."""
    return RunnerKeyList(keys=await _runners(call.sessions).keys.list())


@routes.add("POST", "/v1/runner-keys", StorageFull, scope="admin")
async def create_runner_key(call: Call[Nothing, CreateRunnerKey]) -> NewRunnerKey:
    """Create a key with which a runner connects. The response is the only one that has its secret."""
    return await _runners(call.sessions).keys.create(call.body.name)


@routes.add("DELETE", "/v1/runner-keys/{key_id}", NotFound, StorageFull, scope="admin")
async def revoke_runner_key(call: Call[Nothing, Nothing]) -> RunnerKeyInfo:
    """Revoke a runner's key. Its requests are refused from now on, and its connection ends."""
    return await _runners(call.sessions).keys.revoke(call.path["key_id"])


@routes.add(
    "POST",
    "/v1/runner/connect",
    RunnerKeyInvalid,
    SignatureInvalid,
    BadRequest,
    Unavailable,
    media=_BYTES,
    takes=_BYTES,
    public=True,
)
async def connect_runner(call: Call[Nothing, Upload]) -> Response:
    """For runners: stream the commands for the runner. The request is signed with its key."""
    runners = _runners(call.sessions)
    headers, body = await _signed(call, runners, call.context.settings.max_body)
    return CommandStream(runners, await runners.connect(headers, body))


@routes.add(
    "POST",
    "/v1/runner/callback",
    RunnerKeyInvalid,
    SignatureInvalid,
    BadRequest,
    Unavailable,
    takes=_BYTES,
    public=True,
)
async def take_callback(call: Call[Nothing, Upload]) -> Encoded[Acknowledged]:
    """For runners: store what an agent sent. The request is signed with the key of its conversation."""
    runners = _runners(call.sessions)
    headers, body = await _signed(call, runners, runners.max_callback)
    return encoded(await runners.callback(headers, body))


@routes.add("POST", "/v1/runner/ping", RunnerKeyInvalid, SignatureInvalid, BadRequest, takes=_BYTES, public=True)
async def take_ping(call: Call[Nothing, Upload]) -> None:
    """For runners: show that the runner does not hang. The request is signed with its key."""
    runners = _runners(call.sessions)
    headers, body = await _signed(call, runners, call.context.settings.max_body)
    await runners.ping(headers, body)


class CommandStream(Response):
    """The commands for a runner, one JSON document a line, until one side disconnects."""

    def __init__(self, runners: "Runners", connection: "RunnerConnection") -> None:
        super().__init__()
        self._runners = runners
        self._connection = connection

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/octet-stream"), (b"cache-control", b"no-cache")]
        with Hangup(scope, receive):
            try:
                await send({"type": "http.response.start", "status": 200, "headers": headers})
                async for line in self._connection.lines():
                    await send({"type": "http.response.body", "body": line, "more_body": True})
            finally:
                self._runners.lost(self._connection)
        await send({"type": "http.response.body", "body": b"", "more_body": False})


def _runners(sessions: Sessions) -> "Runners":
    return sessions.services.runners.runners


async def _signed(call: Call[Nothing, Upload], runners: "Runners", most: int) -> tuple[dict[str, str], bytes]:
    """The headers and the body of a runner's request. The key is looked up before the body is read."""
    set_current(DAEMON)
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in call.scope["headers"]}
    await runners.require_key(headers)
    return headers, await request_decoding.whole(call.scope, call.receive, most)
