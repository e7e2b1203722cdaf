"""A client of managed sessions over plain HTTP, for tests of kills, headers and bytes."""

import json
from collections.abc import Iterator, Sequence
from typing import cast

import httpx2

from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.waiting import LIMIT_SECONDS

TOOLSET = {"type": "agent_toolset_20260401"}
ASKING = {"type": "agent_toolset_20260401", "default_config": {"permission_policy": {"type": "always_ask"}}}
WEATHER = {
    "type": "custom",
    "name": "get_weather",
    "description": "How the weather is.",
    "input_schema": {"type": "object"},
}
Event = dict[str, object]
LIMIT = LIMIT_SECONDS


class Raw:
    def __init__(self, daemon: DaemonProcess) -> None:
        self._daemon = daemon
        self._client = httpx2.Client(headers={"authorization": f"Bearer {TOKEN}"}, timeout=LIMIT, verify=NO_TLS)
        self.session_id = ""
        self.url = daemon.url

    def close(self) -> None:
        self._client.close()

    def answer(self, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        return self._client.request(
            method,
            f"{self._daemon.url}/anthropic/v1{path}",
            content=None if body is None else json.dumps(body),
            headers={"content-type": "application/json", **headers},
        )

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Event:
        answer = self.answer(method, path, body, **headers)
        assert answer.status_code == 200, f"{answer.status_code}: {answer.text}"
        return cast("Event", answer.json())

    def warnings(self, path: str, body: object) -> str:
        """The warning header of the response."""
        answer = self._client.post(f"{self._daemon.url}/anthropic/v1{path}", json=body)
        assert answer.status_code == 200, answer.text
        return answer.headers["x-everyagent-warning"]

    def post_file(self, name: str, content: bytes) -> httpx2.Response:
        return self._client.post(f"{self._daemon.url}/anthropic/v1/files", files={"file": (name, content)})

    def upload(self, name: str, content: bytes) -> str:
        """The file's id."""
        answer = self.post_file(name, content)
        assert answer.status_code == 200, answer.text
        return str(answer.json()["id"])

    def create(
        self,
        *tools: object,
        agent: str = "mock",
        model: str = "mock-small",
        environment: object = None,
        mcp_servers: Sequence[object] = (),
        **more: object,
    ) -> str:
        defined = {"name": "A", "model": model, "tools": list(tools), "metadata": {"everyagent.agent": agent}}
        defined["mcp_servers"] = list(mcp_servers)
        agent_id = self.call("POST", "/agents", defined)["id"]
        body = {"name": f"for {agent_id}", **({"config": environment} if environment else {})}
        place = self.call("POST", "/environments", body)
        made = self.call("POST", "/sessions", {"agent": agent_id, "environment_id": place["id"], **more})
        self.session_id = str(made["id"])
        return self.session_id

    def vault(self, variables: dict[str, str]) -> str:
        """A vault with these environment variables."""
        vault = self.call("POST", "/vaults", {"display_name": "variables"})
        for name, value in variables.items():
            auth = {"type": "environment_variable", "secret_name": name, "secret_value": value}
            auth_of_all = {**auth, "networking": {"type": "unrestricted"}}
            self.call("POST", f"/vaults/{vault['id']}/credentials", {"auth": auth_of_all})
        return str(vault["id"])

    @property
    def path(self) -> str:
        return f"/sessions/{self.session_id}"

    def send(self, *events: object) -> list[Event]:
        return cast("list[Event]", self.call("POST", f"{self.path}/events", {"events": list(events)})["data"])

    def say(self, text: str) -> None:
        self.send({"type": "user.message", "content": [{"type": "text", "text": text}]})

    def events(self) -> list[Event]:
        return cast("list[Event]", self.call("GET", f"{self.path}/events")["data"])

    def universal(self) -> str:
        """The session's events from the universal API."""
        return json.dumps(self.universal_call("GET", f"{self.path}/events"))

    def universal_answer(self, method: str, path: str) -> httpx2.Response:
        return self._client.request(method, f"{self._daemon.url}/v1{path}")

    def universal_call(self, method: str, path: str) -> Event:
        answer = self.universal_answer(method, path)
        assert answer.status_code == 200, answer.text
        return cast("Event", answer.json())

    def post_universal(self, path: str, body: object) -> Event:
        answer = self._client.post(f"{self.url}/v1{path}", json=body)
        assert answer.is_success, answer.text
        return cast("Event", answer.json()) if answer.content else {}

    def use(self, token: str) -> None:
        """Send this token from now on."""
        self._client.headers["authorization"] = f"Bearer {token}"

    def status(self) -> object:
        return self.call("GET", self.path)["status"]

    def stream(self, query: str = "", **headers: str) -> Iterator[Event]:
        """Events of the stream, each with its SSE id as `sse_id`."""
        url = f"{self._daemon.url}/anthropic/v1{self.path}/events/stream{query}"
        with self._client.stream("GET", url, headers=headers) as answer:
            assert answer.status_code == 200
            number = ""
            for line in answer.iter_lines():
                if line.startswith("id: "):
                    number = line.removeprefix("id: ")
                elif line.startswith("data: "):
                    yield {**json.loads(line.removeprefix("data: ")), "sse_id": number}

    def wait_idle(self, *stops: str) -> Event:
        """Wait until the session is idle for one of these reasons, and return the idle event."""
        import time

        deadline = time.monotonic() + LIMIT
        while True:
            rests = [event for event in self.events() if str(event["type"]).startswith("session.status_")]
            if rests and rests[-1]["type"] == "session.status_idle" and stop_of(rests[-1]) in stops:
                return rests[-1]
            assert time.monotonic() < deadline, f"never idle for {stops}: {rests[-3:]}"
            time.sleep(0.02)

    def wait_done(self) -> None:
        """Wait until the turn has ended, and allow everything it asks for."""
        while stop_of(idle := self.wait_idle("end_turn", "requires_action")) == "requires_action":
            for use in required(idle):
                self.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": "allow"})


def stop_of(idle: Event) -> object:
    return cast("dict[str, object]", idle["stop_reason"])["type"]


def required(idle: Event) -> list[str]:
    return cast("list[str]", cast("dict[str, object]", idle["stop_reason"])["event_ids"])


def texts(events: list[Event]) -> str:
    return json.dumps([event for event in events if event["type"] == "agent.message"])
