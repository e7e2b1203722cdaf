"""A client with the methods of sandbox-agent 0.1.11's SDK: the same paths, headers and bodies, and strict types."""

from collections.abc import Generator
from typing import TypeVar

import httpx2
import msgspec

from everyagent.testing.daemon import NO_TLS, TOKEN
from tests.compat import sandbox_agent_types as types
from tests.waiting import LIMIT_SECONDS

T = TypeVar("T")
Json = dict[str, object]


class Refused(Exception):
    """An error of the API, whose body is a problem."""

    def __init__(self, answer: httpx2.Response) -> None:
        self.problem = msgspec.json.decode(answer.content, type=types.Problem)
        super().__init__(f"{answer.status_code} {self.problem}")
        assert self.problem.status == answer.status_code


class SandboxAgent:
    def __init__(self, url: str, token: str = TOKEN) -> None:
        self._http = httpx2.Client(
            base_url=f"{url}/v1",
            headers={"authorization": f"Bearer {token}", "accept": "application/json"},
            verify=NO_TLS,
            timeout=LIMIT_SECONDS,
        )

    def close(self) -> None:
        self._http.close()

    def get(self, route: str, into: type[T], /, **query: str | int | bool) -> T:
        return msgspec.json.decode(self._sent("GET", route, query=query).content, type=into)

    def post(self, route: str, body: Json | None, into: type[T], /, **query: str | int | bool) -> T:
        return msgspec.json.decode(self._sent("POST", route, body, query=query).content, type=into)

    def tell(self, path: str, body: Json | None = None) -> None:
        """A call that is answered by 204."""
        assert self._sent("POST", path, body).status_code == 204

    def send(
        self, method: str, route: str, into: type[T], content: bytes = b"", kind: str = "", /, **query: str | bool
    ) -> T:
        headers = {"content-type": kind} if kind else {}
        answer = self._http.request(method, route, params=query, content=content, headers=headers)
        return msgspec.json.decode(_accepted(answer).content, type=into)

    def read(self, route: str, /, **query: str) -> bytes:
        headers = {"accept": "application/octet-stream"}
        return _accepted(self._http.get(route, params=query, headers=headers)).content

    def stream(
        self, method: str, path: str, body: Json | None = None, **query: str | int | bool
    ) -> Generator[types.Event]:
        """The events of a stream, read as its SDK does: the `data:` lines of each block."""
        headers = {"accept": "text/event-stream"}
        with self._http.stream(method, path, params=query, json=body, headers=headers) as answer:
            if answer.is_error:
                answer.read()
            _accepted(answer)
            block: list[str] = []
            for line in answer.iter_lines():
                if line.startswith("data:"):
                    block.append(line[5:].strip())
                elif not line and block:
                    yield event(msgspec.json.decode("\n".join(block), type=types.Event))
                    block = []

    def _sent(
        self, method: str, path: str, body: Json | None = None, query: dict[str, str | int | bool] | None = None
    ) -> httpx2.Response:
        return _accepted(self._http.request(method, path, params=query or {}, json=body))


def event(one: types.Event) -> types.Event:
    """The event, with data of its own type. Types that sandbox-agent does not have are left as they are."""
    if one.type not in types.DATA:
        return one
    return msgspec.structs.replace(one, data=msgspec.convert(one.data, types.DATA[one.type]))


def _accepted(answer: httpx2.Response) -> httpx2.Response:
    if answer.is_error:
        raise Refused(answer)
    return answer
