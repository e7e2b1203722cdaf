"""Creates agents and sessions for flows, and follows a session's event stream."""

from collections.abc import Callable, Iterable, Sequence

from loose import Loose
from seen import saw

TOOLSET = {"type": "agent_toolset_20260401"}
WEATHER = {
    "type": "custom",
    "name": "get_weather",
    "description": "How the weather is.",
    "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}},
}
_ENVIRONMENTS: list[str] = []


def environment(client: Loose) -> str:
    if not _ENVIRONMENTS:
        import uuid

        _ENVIRONMENTS.append(str(client.beta.environments.create(name=f"flows {uuid.uuid4()}").id))
    return _ENVIRONMENTS[0]


def new_agent(client: Loose, agent: str, tools: Sequence[object] = (TOOLSET,), model: str = "mock-small") -> Loose:
    return client.beta.agents.create(
        name="Worker", model=model, tools=list(tools), metadata={"everyagent.agent": agent}
    )


def new_session(client: Loose, agent: str, tools: Sequence[object] = (TOOLSET,), **more: object) -> Loose:
    made = new_agent(client, agent, tools)
    return client.beta.sessions.create(agent=made.id, environment_id=environment(client), **more)


def message(text: str) -> dict[str, object]:
    return {"type": "user.message", "content": [{"type": "text", "text": text}]}


class Talk:
    """A session and its event stream, which is open before anything is sent."""

    def __init__(self, client: Loose, session_id: object, **more: object) -> None:
        self.client = client
        self.session_id = session_id
        self._stream = client.beta.sessions.events.stream(session_id, **more)
        self._events = iter(saw(self._stream))

    def send(self, *events: object) -> Loose:
        return self.client.beta.sessions.events.send(self.session_id, events=list(events))

    def until(self, *wanted: str) -> list[Loose]:
        """Events up to the first of one of these types."""
        found: list[Loose] = []
        for event in self._events:
            found.append(event)
            if event.type in wanted:
                return found
        raise AssertionError(f"the stream ended before {wanted}: {[each.type for each in found]}")

    def say(self, *events: object) -> list[Loose]:
        """Send events, and return those received until the session is idle."""
        self.send(*events)
        return self.until("session.status_idle")

    def rest(self) -> list[Loose]:
        """The remaining events until the stream ends."""
        return list(self._events)

    def close(self) -> None:
        self._stream.close()


def types(events: Iterable[Loose]) -> list[str]:
    return [str(event.type) for event in events]


def one(events: Iterable[Loose], kind: str) -> Loose:
    found = [event for event in events if event.type == kind]
    assert len(found) == 1, f"{len(found)} of {kind}"
    return found[0]


def eventually(check: Callable[[], object], what: str) -> None:
    import time

    deadline = time.monotonic() + 180
    while not check():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
