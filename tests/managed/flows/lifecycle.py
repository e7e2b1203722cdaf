"""Sessions: create in every form, list in both orders, update, archive, delete."""

import anthropic
from loose import Loose
from refused import refused
from stage import TOOLSET, WEATHER, Talk, environment, message, new_agent, new_session, one, types

NEW = not anthropic.__version__.startswith("0.")


def flow(client: Loose, agent: str = "mock") -> None:
    create_in_every_form(client, agent)
    list_sessions(client, agent)
    update_session(client, agent)
    end_sessions(client, agent)


def create_in_every_form(client: Loose, agent: str) -> None:
    sessions, place = client.beta.sessions, environment(client)
    made = new_agent(client, agent)
    client.beta.agents.update(made.id, version=1, system="Newer.")
    assert sessions.create(agent=made.id, environment_id=place).agent.version == 2
    pinned = sessions.create(agent={"type": "agent", "id": made.id, "version": 1}, environment_id=place)
    assert (pinned.agent.version, pinned.agent.system) == (1, None)
    if NEW:
        own = {"type": "agent_with_overrides", "id": made.id, "system": "Mine.", "tools": [TOOLSET, WEATHER]}
        special = sessions.create(agent=own, environment_id=place)
        assert (special.agent.system, len(special.agent.tools)) == ("Mine.", 2)
        begun = sessions.create(agent=made.id, environment_id=place, initial_events=[message("[slow seconds=30]")])
        assert begun.status == "running"
        error = refused(anthropic.ConflictError, lambda: sessions.delete(begun.id))
        assert error.response.headers["x-should-retry"] == "false"
        talk = Talk(client, begun.id)
        talk.send({"type": "user.interrupt"})
        talk.until("session.status_idle")
        talk.close()
    refused(anthropic.NotFoundError, lambda: sessions.create(agent="agent_nobody", environment_id=place))
    refused(anthropic.NotFoundError, lambda: sessions.create(agent=made.id, environment_id="env_nowhere"))
    refused(anthropic.NotFoundError, lambda: sessions.retrieve("sesn_nobody"))


def list_sessions(client: Loose, agent: str) -> None:
    sessions, place = client.beta.sessions, environment(client)
    made = new_agent(client, agent)
    ids = [sessions.create(agent=made.id, environment_id=place).id for _ in range(5)]
    assert [each.id for each in sessions.list(agent_id=made.id, limit=2)] == ids[::-1]
    assert [each.id for each in sessions.list(agent_id=made.id, order="asc", limit=3)] == ids
    page = sessions.list(agent_id=made.id, limit=2)
    second = page.get_next_page()
    assert [each.id for each in second.data] == ids[1:3][::-1]
    if NEW:
        assert page.prev_page is None
        back = sessions.list(agent_id=made.id, limit=2, page=second.prev_page)
        assert [each.id for each in back.data] == [each.id for each in page.data]
        assert [each.id for each in sessions.list(agent_id=made.id, statuses=["running"])] == []
        assert len(list(sessions.list(agent_id=made.id, statuses=["idle", "running"]))) == 5
    third = sessions.retrieve(ids[2]).created_at
    assert [each.id for each in sessions.list(agent_id=made.id, created_at_gte=third)] == ids[2:][::-1]
    assert [each.id for each in sessions.list(agent_id=made.id, created_at_lt=third)] == ids[:2][::-1]
    assert [each.id for each in sessions.list(agent_id=made.id, agent_version=2)] == []
    every = sessions.with_raw_response.list(agent_version=2).http_response.json()  # others' may be newer than this SDK
    assert made.id in [each["agent"]["id"] for each in every["data"]], "a version is of an agent"
    sessions.archive(ids[0])
    assert ids[0] not in [each.id for each in sessions.list(agent_id=made.id)]
    assert ids[0] in [each.id for each in sessions.list(agent_id=made.id, include_archived=True)]
    refused(anthropic.BadRequestError, lambda: sessions.list(page="page_nonsense"))


def update_session(client: Loose, agent: str) -> None:
    sessions = client.beta.sessions
    session = new_session(client, agent, title="Old", metadata={"a": "1", "b": "2"})
    talk = Talk(client, session.id)
    changed = sessions.update(session.id, title="New", metadata={"a": None, "c": "3"})
    assert (changed.title, changed.metadata) == ("New", {"b": "2", "c": "3"})
    if not NEW:  # which does not know the event that tells of it
        talk.close()
        return
    event = one(talk.until("session.updated"), "session.updated")
    assert (event.title, event.metadata) == ("New", {"b": "2", "c": "3"})
    budget = {"type": "limit", "max_list_cost": {"amount": "0.000001", "currency": "USD"}}
    changed = sessions.update(session.id, agent={"tools": [TOOLSET, WEATHER]}, budget=budget)
    assert (len(changed.agent.tools), changed.budget.max_list_cost.amount) == (2, "0.000001")
    event = one(talk.until("session.updated"), "session.updated")
    assert len(event.agent.tools) == 2
    received = talk.say(message("[hello]"))
    assert types(received)[-2:] == ["session.usage", "session.status_idle"]
    assert received[-1].stop_reason.type == "budget_reached"
    refused(anthropic.BadRequestError, lambda: talk.send(message("more")))
    assert sessions.update(session.id, vault_ids=[]).vault_ids == []
    refused(anthropic.NotFoundError, lambda: sessions.update(session.id, vault_ids=["vlt_any"]))
    sessions.update(session.id, budget=None)
    assert talk.say(message("[custom name=get_weather]"))[-1].stop_reason.type == "requires_action"
    talk.send({"type": "user.interrupt"})
    talk.until("session.status_idle")
    talk.close()


def end_sessions(client: Loose, agent: str) -> None:
    sessions = client.beta.sessions
    session = new_session(client, agent)
    talk = Talk(client, session.id)
    talk.say(message("[hello]"))
    archived = sessions.archive(session.id)
    assert archived.archived_at is not None
    assert archived.status == "terminated"
    assert types(talk.until("session.status_terminated"))
    assert not talk.rest(), "which ends the stream"
    refused(anthropic.ConflictError, lambda: talk.send(message("Hello?")))
    assert "agent.message" in types(client.beta.sessions.events.list(session.id))
    deleted = sessions.delete(session.id)
    assert (deleted.id, deleted.type) == (session.id, "session_deleted")
    refused(anthropic.NotFoundError, lambda: sessions.retrieve(session.id))
    talk = Talk(client, new_session(client, agent).id)
    sessions.delete(talk.session_id)
    assert types(talk.rest())[-1] == "session.deleted", "which ends the stream"
