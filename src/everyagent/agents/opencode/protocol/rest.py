"""Requests to one OpenCode server, and its event streams. Loopback only, with the password we gave it."""

from contextlib import AbstractAsyncContextManager
from typing import TypeVar
from urllib.parse import quote

import httpx2
import msgspec
from msgspec import Struct

from everyagent.errors import AgentFailed

#: How long OpenCode may take to answer; a busy machine needs seconds for the first request in a directory.
REPLY_LIMIT = 30.0
#: A heartbeat comes every ten seconds; after a longer silence the stream is lost.
SILENCE_LIMIT = 25.0
CONNECT_LIMIT = 5.0
T = TypeVar("T")
USER = "opencode"
NEXT_HEADER = "x-next-cursor"


class OpencodeUnreachable(AgentFailed):
    """OpenCode does not answer: it is ending, or it hangs."""


class OpencodeRefused(AgentFailed):
    """OpenCode answered with an error."""

    def __init__(self, path: str, status: int, body: bytes) -> None:
        super().__init__(f"OpenCode refused {path} with {status}: {_words(body)}")
        self.answered = status


class Rest:
    """Every request is about one directory: OpenCode keeps what it runs there apart from all else."""

    def __init__(self, url: str, password: str) -> None:
        self.url = url
        self._client = httpx2.AsyncClient(
            base_url=url,
            auth=(USER, password),
            verify=False,
            trust_env=False,
            limits=httpx2.Limits(max_connections=None),
            timeout=httpx2.Timeout(REPLY_LIMIT, connect=CONNECT_LIMIT),
        )

    async def ask(
        self, method: str, path: str, directory: str, body: bytes | None = None, *, limit: float = REPLY_LIMIT
    ) -> bytes:
        """The answer. Raises `OpencodeRefused` and `OpencodeUnreachable`."""
        return (await self._answer(method, path, directory, body, limit)).content

    async def page(self, path: str, directory: str) -> tuple[bytes, str | None]:
        """One page of a list, newest first, and the `before` of the page before it."""
        answer = await self._answer("GET", path, directory, None, REPLY_LIMIT)
        return answer.content, answer.headers.get(NEXT_HEADER)

    async def _answer(
        self, method: str, path: str, directory: str, body: bytes | None, limit: float
    ) -> httpx2.Response:
        headers = {"x-opencode-directory": quote(directory), "content-type": "application/json"}
        timeout = httpx2.Timeout(limit, connect=CONNECT_LIMIT)
        try:
            answer = await self._client.request(method, path, headers=headers, content=body, timeout=timeout)
        except httpx2.TimeoutException:
            raise OpencodeUnreachable(f"OpenCode did not answer {path} within {limit:.0f} seconds.") from None
        except (httpx2.HTTPError, RuntimeError, OSError) as error:
            raise OpencodeUnreachable(f"OpenCode cannot be reached: {error or type(error).__name__}.") from error
        if answer.status_code >= 400:
            raise OpencodeRefused(path, answer.status_code, answer.content)
        return answer

    def events(self, directory: str) -> AbstractAsyncContextManager[httpx2.Response]:
        """The stream of a directory's events."""
        timeout = httpx2.Timeout(SILENCE_LIMIT, connect=CONNECT_LIMIT)
        return self._client.stream("GET", "/event", params={"directory": directory}, timeout=timeout)

    async def close(self) -> None:
        await self._client.aclose()


def read(answer: bytes, kind: type[T]) -> T:
    """Raises `AgentFailed`."""
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.MsgspecError as error:
        raise AgentFailed(f"OpenCode's answer cannot be read: {error}.") from error


class _Data(Struct, frozen=True):
    message: str = ""


class _Error(Struct, frozen=True):
    name: str = ""
    message: str = ""
    data: _Data = _Data()


def _words(body: bytes) -> str:
    try:
        error = msgspec.json.decode(body, type=_Error)
    except msgspec.MsgspecError:
        return body[:200].decode(errors="replace")
    return error.data.message or error.message or error.name
