"""Forks of long sessions are made beside the event loop."""

import threading
from collections.abc import Iterable

import pytest

from everyagent.log.log import StoredEvent
from everyagent.model.sessions import ForkSession
from everyagent.sessions import creation
from everyagent.sessions.history.fork import Fork
from tests.sessions.conftest import Opened, Talk
from tests.sessions.test_lives import Create, texts


async def test_the_past_of_a_fork_is_encoded_in_slices_by_other_threads(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(creation, "FORK_SLICE", 7)
    slices: list[tuple[int, bool]] = []
    add = Fork.add

    def noted(self: Fork, past: Iterable[StoredEvent]) -> bool:
        events = list(past)
        slices.append((len(events), threading.current_thread() is threading.main_thread()))
        return add(self, events)

    monkeypatch.setattr(Fork, "add", noted)
    async with opened() as sessions:
        talk = await create(sessions)
        await talk.say("[flood events=50 size=20]")
        events = await talk.events()
        await sessions.fork(talk.id, ForkSession(session_id="the-fork"))
        assert sum(count for count, _ in slices) == len(events)
        assert max(count for count, _ in slices) == 7
        assert not any(on_the_loop for _, on_the_loop in slices)
        forked = await Talk(sessions, "the-fork").events()
        assert [event.sequence for event in forked] == list(range(1, len(events) + 2))
        assert texts([*forked]) == texts([*events])
        assert len({event.event_id for event in [*events, *forked]}) == len(events) + len(forked)
