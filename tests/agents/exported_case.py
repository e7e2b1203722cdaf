"""Exports a real session as a test case, so that the golden tests' players can replay it."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from tests.agents.stage import Stage

from everyagent.cli.sessions.case import write_case
from everyagent.client import AnyEvent, Client
from everyagent.model.events import Event, ItemCompleted
from everyagent.testing.daemon import TOKEN

_KINDS = ("message", "tool_call", "tool_result")


def assert_case_replays(session: Stage[Any], folder: Path, play: Callable[[str], Iterable[Event]]) -> None:
    """Runs a command and a second turn, exports the session, and replays the case. The model is scripted for that."""
    session.create(permissionMode="bypass").turn("Run it")
    session.turn("And then?")
    with Client(session.daemon.url, TOKEN) as client:
        write_case(client, session.id, folder)
        items = made(client.events(session.id, follow=False))
    assert [kind for kind, _ in items].count("tool_result") == 1
    assert made(play(str(folder))) == items


def made(events: Iterable[AnyEvent | Event]) -> list[tuple[str, str]]:
    """The kinds and states of the agent's completed items, in order."""
    items = [event.data.item for event in events if isinstance(event.data, ItemCompleted)]
    return [(item.kind, item.status) for item in items if item.kind in _KINDS and item.role != "user"]
