"""Sends one signed message to an endpoint: no redirects, no proxies, bounded in time and size."""

import ssl
import time
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

import anyio
import httpcore2

from everyagent import __version__
from everyagent.signatures import signed_headers
from everyagent.webhooks.addresses import AddressRefused, AddressRules

_LIMIT_SECONDS: Final = 15.0
_CONNECT_SECONDS: Final = 5.0
#: What a receiver answers is not used. So much of it is read, so that the connection can be used again.
_MOST_ANSWER_BYTES: Final = 64 << 10
_CONNECTIONS: Final = 1
_KEEP_SECONDS: Final = 60.0


class Attempt(NamedTuple):
    """`status` is None if there was no response. `error` is empty for a 2xx."""

    status: int | None
    error: str
    duration_ms: int


class CheckedBackend(httpcore2.AsyncNetworkBackend):
    """Connects to addresses that were checked. The name is not resolved again, so it cannot change in between."""

    def __init__(self, rules: AddressRules, *, encrypted: bool) -> None:
        self._rules = rules
        self._encrypted = encrypted
        self._backend = cast("httpcore2.AsyncNetworkBackend", httpcore2.AnyIOBackend())

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: object = None,
    ) -> httpcore2.AsyncNetworkStream:
        addresses = await self._rules.checked(host, port, encrypted=self._encrypted)
        failure: Exception = httpcore2.ConnectError(f"{host} has no address")
        for address in addresses:
            try:
                return await self._backend.connect_tcp(address, port, timeout)
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as error:
                failure = error
        raise failure


class WebhookSender:
    """The connection to one endpoint. Certificates are checked with the system's authorities, or with `tls`."""

    def __init__(
        self, rules: AddressRules, *, limit: float = _LIMIT_SECONDS, tls: ssl.SSLContext | None = None
    ) -> None:
        self._rules = rules
        self._limit = limit
        self._tls = tls
        self._pools: dict[bool, httpcore2.AsyncConnectionPool] = {}

    async def send(self, url: str, secret: bytes, message_id: str, body: bytes) -> Attempt:
        """Never raises for anything that the endpoint does."""
        began = time.monotonic()
        status, error = await self._tried(url, secret, message_id, body)
        return Attempt(status, error, round((time.monotonic() - began) * 1000))

    async def _tried(self, url: str, secret: bytes, message_id: str, body: bytes) -> tuple[int | None, str]:
        headers = {
            "host": urlsplit(url).netloc,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "user-agent": f"everyagent/{__version__}",
            **signed_headers(secret, message_id, int(time.time()), body),
        }
        pool = self._pool(encrypted=url.startswith("https:"))
        try:
            with anyio.fail_after(self._limit):
                async with pool.stream(
                    "POST",
                    url,
                    headers=[*headers.items()],
                    content=body,
                    extensions={"timeout": {"connect": _CONNECT_SECONDS}},
                ) as response:
                    size = 0
                    async for piece in response.aiter_stream():
                        size += len(piece)
                        if size > _MOST_ANSWER_BYTES:
                            break
        except AddressRefused as error:
            return None, str(error)
        except TimeoutError:
            return None, f"no answer within {self._limit:.0f} seconds"
        except (httpcore2.NetworkError, httpcore2.ProtocolError, httpcore2.TimeoutException, OSError) as error:
            return None, f"{type(error).__name__}: {error}"[:500]
        status = response.status
        if 200 <= status < 300:
            return status, ""
        if 300 <= status < 400:
            return status, f"answered {status}: redirects are not followed, so give the address it leads to"
        return status, f"answered {status}"

    def _pool(self, *, encrypted: bool) -> httpcore2.AsyncConnectionPool:
        pool = self._pools.get(encrypted)
        if pool is None:
            pool = self._pools[encrypted] = httpcore2.AsyncConnectionPool(
                ssl_context=self._tls,
                max_connections=_CONNECTIONS,
                keepalive_expiry=_KEEP_SECONDS,
                network_backend=CheckedBackend(self._rules, encrypted=encrypted),
            )
        return pool

    async def close(self) -> None:
        for pool in self._pools.values():
            await pool.aclose()
