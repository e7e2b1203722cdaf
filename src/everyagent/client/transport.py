"""HTTP settings and response handling that both clients share."""

import ssl

import httpx2
import msgspec

from everyagent.client.backoff import RetryDelays
from everyagent.client.call import ApiCall, ApiResponse, T
from everyagent.client.discovery import find_token, find_url, is_loopback
from everyagent.client.errors import ClientError, api_error

#: The daemon sends a heartbeat every 10 seconds; a stream that is silent for longer than this is considered lost.
SILENCE = 30.0
CONNECT = 5.0


class TransportSettings:
    def __init__(self, base_url: str | None, token: str | None, timeout: float, patience: float, attempts: int) -> None:
        self.url = (base_url or find_url()).rstrip("/")
        self._token = token or find_token(self.url)
        self._timeout = timeout
        self._patience = patience
        self._attempts = attempts

    @property
    def headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self._token}"} if self._token else {}

    @property
    def trust_env(self) -> bool:
        """Whether to use the proxies of the environment: not for an address of this machine."""
        return not is_loopback(self.url)

    @property
    def verify(self) -> ssl.SSLContext | bool:
        """Plain HTTP needs no certificates of the system; loading them takes 30 ms."""
        return True if self.url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

    def timeout(self, call: ApiCall[T]) -> httpx2.Timeout:
        return httpx2.Timeout(call.timeout or self._timeout, connect=CONNECT)

    def silence(self) -> httpx2.Timeout:
        return httpx2.Timeout(SILENCE, connect=CONNECT)

    def backoff(self) -> RetryDelays:
        return RetryDelays(attempts=self._attempts, patience=self._patience)


def may_repeat(call: ApiCall[T], error: httpx2.TransportError) -> bool:
    """Whether a failed call may be sent again. A call that timed out may still be running, so it may not."""
    if isinstance(error, httpx2.ConnectError | httpx2.ConnectTimeout):
        return True
    return call.repeatable and not isinstance(error, httpx2.TimeoutException)


def finish(call: ApiCall[T], response: httpx2.Response) -> T:
    if not response.is_success:
        raise api_error(response.status_code, response.content)
    try:
        return call.decode(ApiResponse(response.content, response.headers))
    except msgspec.MsgspecError as error:
        raise ClientError(
            f"{response.url} sent an unexpected response ({error}). Is it an everyagent daemon?"
        ) from error


def reason(error: httpx2.RequestError) -> str:
    return str(error) or type(error).__name__
