"""Sends the response of one request: adds its request id and warnings, counts it, reports errors."""

import errno
import time

from everyagent.api.access_log import log_response
from everyagent.api.asgi import Message, Receive, Scope, Send
from everyagent.api.cors import Cors
from everyagent.api.http_api import HttpApi
from everyagent.api.metrics import Metrics
from everyagent.api.problems import unexpected
from everyagent.errors import EveryagentError, StorageFull, Unavailable
from everyagent.logs import get_logger
from everyagent.model.ids import new_id

_WARNING_BYTES = 1000


class ResponseSender:
    """`ignored` are unknown fields of the request; `warnings` are other messages for the client.

    `logged`: the response has a line in the access log.
    """

    __slots__ = (
        "_begun",
        "_cors",
        "_logged",
        "_metrics",
        "_scope",
        "_send",
        "_start",
        "api",
        "ignored",
        "request_id",
        "route",
        "warnings",
    )

    def __init__(
        self, scope: Scope, send: Send, metrics: Metrics, api: HttpApi, cors: Cors, *, logged: bool = False
    ) -> None:
        self.request_id = new_id("req_")
        self.route = ""
        self.ignored: list[str] = []
        self.warnings: list[str] = []
        self._scope = scope
        self._send = send
        self._metrics = metrics
        self.api = api
        self._cors = cors
        self._logged = logged
        self._begun = False
        self._start = time.perf_counter()

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._begun = True
            message["headers"] += self._headers()
            seconds = time.perf_counter() - self._start
            self._metrics.answered(self._scope["method"], self.route, message["status"], seconds)
            if self._logged:
                log_response(self._scope, self.route, message["status"], seconds, self.request_id)
        await self._send(message)

    async def fail(self, error: Exception, receive: Receive) -> None:
        known = error if isinstance(error, EveryagentError) else _exhausted(error) or unexpected()
        if type(known) is EveryagentError and known is not error:
            self._log(error)
        # A response that has begun stays incomplete: the server closes the connection, so the client notices.
        if not self._begun:
            await self.api.error_response(known, self.request_id)(self._scope, receive, self.send)

    def _headers(self) -> list[tuple[bytes, bytes]]:
        request_id = self.request_id.encode()
        headers = [(b"x-request-id", request_id), (b"request-id", request_id), *self._cors.headers(self._scope)]
        unknown = [f"ignored unknown fields: {', '.join(self.ignored)}"] if self.ignored else []
        if text := "; ".join([*self.warnings, *unknown]).encode("ascii", "backslashreplace"):
            visible = bytes(byte if 32 <= byte < 127 else ord("?") for byte in text[:_WARNING_BYTES])
            headers.append((b"x-everyagent-warning", visible))
        return headers

    def _log(self, error: Exception) -> None:
        get_logger("everyagent.api").error(
            "request failed", request_id=self.request_id, route=self.route, exc_info=error
        )


def _exhausted(error: Exception) -> EveryagentError | None:
    """The response to a resource of the machine that ran out. A module that is loaded needs a file descriptor, too."""
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EMFILE, errno.ENFILE) or (isinstance(error, ImportError) and "open files" in str(error)):
        return Unavailable("The daemon has no free file descriptor. Try again when others have disconnected.")
    if number in (errno.ENOSPC, errno.EDQUOT):
        return StorageFull("The disk is full. Nothing was stored; try again when it has space.")
    return None
