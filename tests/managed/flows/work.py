"""The work queue of a self-hosted environment: every call."""

import uuid
from collections.abc import Callable

import anthropic
from loose import Loose
from refused import refused
from stage import TOOLSET, eventually, message, new_agent


def claimed(poll: Callable[[], Loose]) -> Loose:
    """The work that comes after a wait."""
    found: list[Loose] = []

    def come() -> bool:
        found.append(poll())
        return bool(found[-1])

    eventually(come, "no work comes")
    return found[-1]


def flow(client: Loose, agent: str = "mock") -> None:
    place = client.beta.environments.create(name=f"work {uuid.uuid4()}", config={"type": "self_hosted"})
    work, known = client.beta.environments.work, {"environment_id": place.id}
    assert work.poll(place.id) is None
    made = new_agent(client, agent, [TOOLSET])
    session = client.beta.sessions.create(agent=made.id, environment_id=place.id)
    assert work.poll(place.id, block_ms=1) is None, "nothing to do yet"
    hello = message('[custom name=bash input={"command":"uname"}]')
    client.beta.sessions.events.send(session.id, events=[hello])
    eventually(lambda: work.stats(place.id).depth == 1, "no work is there")
    item = work.poll(place.id, block_ms=999, anthropic_worker_id="me")
    assert (item.state, item.data.type, item.data.id) == ("queued", "session", session.id)
    assert item.secret is not None
    assert work.poll(place.id) is None, "one worker has it"
    stats = work.stats(place.id)
    assert (stats.depth, stats.pending, stats.workers_polling) == (0, 1, 1)
    assert stats.oldest_queued_at is not None
    again = claimed(lambda: work.poll(place.id, reclaim_older_than_ms=0))
    assert again.id == item.id, "who does not acknowledge it loses it"
    taken = work.ack(item.id, **known)
    assert (taken.state, taken.secret) == ("starting", None)
    beat = work.heartbeat(item.id, **known, expected_last_heartbeat="NO_HEARTBEAT")
    assert (beat.state, beat.lease_extended) == ("active", True)
    error = refused(
        anthropic.APIStatusError,
        lambda: work.heartbeat(item.id, **known, expected_last_heartbeat="NO_HEARTBEAT"),
    )
    assert error.status_code == 412
    details = error.body["error"]["details"]
    assert details["error_code"] == "heartbeat_precondition_failed"
    assert details["current_state"]["last_heartbeat"] == beat.last_heartbeat
    beat = work.heartbeat(item.id, **known, expected_last_heartbeat=beat.last_heartbeat, desired_ttl_seconds=60)
    assert (beat.ttl_seconds, work.retrieve(item.id, **known).latest_heartbeat_at) == (60, beat.last_heartbeat)
    assert work.update(item.id, **known, metadata={"a": "1"}).metadata == {"a": "1"}
    assert work.stop(item.id, **known).state == "stopping"
    beat = work.heartbeat(item.id, **known, expected_last_heartbeat="whatever")
    assert (beat.state, beat.lease_extended) == ("stopping", False)
    stopped = work.stop(item.id, **known, force=True)
    assert stopped.stopped_at is not None
    refused(anthropic.ConflictError, lambda: work.stop(item.id, **known))
    refused(anthropic.NotFoundError, lambda: work.retrieve("work_none", **known))
    anew = claimed(lambda: work.poll(place.id))
    assert anew.data.id == session.id, "the session still waits, so somebody else gets it"
    assert [each.id for each in work.list(place.id, limit=1)] == [anew.id, item.id]
