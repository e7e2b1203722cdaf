"""Signed requests of a runner to its daemon."""

import ssl
import time

import httpx2
import msgspec

from everyagent.client.discovery import is_loopback
from everyagent.client.transport import reason
from everyagent.errors import SignatureInvalid
from everyagent.model.ids import new_id
from everyagent.model.runners import Acknowledged
from everyagent.remote import wire
from everyagent.runner.outage import Outage
from everyagent.signatures import signed_headers

_encode = msgspec.msgpack.Encoder().encode
_acknowledged = msgspec.json.Decoder(Acknowledged)
_CALLBACK_SECONDS = 60.0
#: Statuses of the daemon with which the same request will not succeed later.
_FINAL = (400, 401, 403, 404, 405)


class _Problem(msgspec.Struct):
    type: str = ""
    code: str = ""
    detail: str = ""


class Refused(Exception):
    """The answer is an error. `own`: it is the daemon's own, and not that of a proxy.

    `final`: the same request will not succeed later. A wrong clock can be set right, so it is not.
    """

    def __init__(self, response: httpx2.Response) -> None:
        try:
            problem = msgspec.json.decode(response.content, type=_Problem)
        except wire.UNREADABLE:
            problem = _Problem()
        super().__init__(problem.detail or f"The answer was {response.status_code} and not the daemon's: of a proxy?")
        self.status = response.status_code
        self.own = problem.type == f"urn:everyagent:error:{problem.code}"
        self.final = self.own and self.status in _FINAL and problem.code != SignatureInvalid.code


class Uplink:
    """`secret` is the signing secret of the runner's key, from which the key of each conversation is derived."""

    def __init__(self, url: str, key_id: str, secret: bytes) -> None:
        self.url = url.rstrip("/")
        self.outage = Outage()
        self._key_id = key_id
        self._secret = secret
        plain = not self.url.startswith("https:")
        self.client = httpx2.AsyncClient(
            base_url=self.url,
            verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if plain else True,
            trust_env=not is_loopback(self.url),
        )

    def connect(self, hello: wire.Hello) -> httpx2.Request:
        timeout = httpx2.Timeout(wire.SILENCE_SECONDS, connect=10.0)
        return self._request(wire.CONNECT_PATH, self._secret, msgspec.json.encode(hello), timeout)

    async def ping(self, connection: str, number: int) -> None:
        """Raises `Refused` or `httpx2.RequestError`."""
        body = msgspec.json.encode(wire.Ping(connection=connection, number=number))
        await self._sent(self._request(wire.PING_PATH, self._secret, body, httpx2.Timeout(wire.HEARTBEAT_SECONDS)))

    async def callback(self, callback: wire.Callback) -> Acknowledged:
        """Raises `Refused` or `httpx2.RequestError`."""
        secret = wire.session_secret(self._secret, callback.session_id, callback.epoch)
        timeout = httpx2.Timeout(_CALLBACK_SECONDS, connect=10.0)
        request = self._request(wire.CALLBACK_PATH, secret, _encode(callback), timeout)
        request.headers[wire.CONVERSATION_HEADER] = f"{callback.session_id} {callback.epoch}"
        response = await self._sent(request)
        try:
            return _acknowledged.decode(response.content)
        except wire.UNREADABLE as error:
            raise Refused(response) from error

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self.client.send(request)
        except httpx2.RequestError as error:
            self.outage.failed(reason(error))
            raise
        self.outage.over()
        if not response.is_success:
            raise Refused(response)
        return response

    def _request(self, path: str, secret: bytes, body: bytes, timeout: httpx2.Timeout) -> httpx2.Request:
        headers = signed_headers(secret, new_id("msg_"), int(time.time()), body)
        headers |= {wire.KEY_HEADER: self._key_id, "content-type": "application/octet-stream"}
        return self.client.build_request("POST", path, content=body, headers=headers, timeout=timeout)

    async def close(self) -> None:
        await self.client.aclose()
