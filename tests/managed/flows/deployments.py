"""Deployments: create, change, run, pause, and what a run made."""

import anthropic
from loose import Loose
from refused import refused
from stage import environment, message, new_agent

DAILY = {"type": "cron", "expression": "30 9 * * 1-5", "timezone": "Europe/Oslo"}


def flow(client: Loose) -> None:
    deployments, runs = client.beta.deployments, client.beta.deployment_runs
    agent, place = new_agent(client, "mock", []), environment(client)
    system = {"type": "system.message", "content": [{"type": "text", "text": "Be brief."}]}
    given = {"agent": agent.id, "environment_id": place, "initial_events": [message("[whoami]"), system]}
    made = deployments.create(name="Report", schedule=DAILY, metadata={"team": "a"}, **given)
    assert (made.status, made.agent.id, made.agent.version) == ("active", agent.id, 1)
    assert [event.type for event in made.initial_events] == ["user.message", "system.message"]
    assert (made.schedule.expression, made.schedule.last_run_at) == ("30 9 * * 1-5", None)
    assert len(made.schedule.upcoming_runs_at) == 5
    for wrong in ({"expression": "61 9 * * *"}, {"expression": "@daily"}, {"timezone": "Europe/Atlantis"}):
        refused(
            anthropic.BadRequestError,
            lambda wrong=wrong: deployments.create(name="No", schedule={**DAILY, **wrong}, **given),
        )
    changed = deployments.update(made.id, schedule=None, description="Now by hand.", metadata={"team": None})
    assert (changed.schedule, changed.description, changed.metadata) == (None, "Now by hand.", {})
    assert deployments.pause(made.id).paused_reason.type == "manual"
    assert [each.id for each in deployments.list(status="paused", agent_id=agent.id)] == [made.id]
    assert deployments.unpause(made.id).status == "active"

    run = deployments.run(made.id)
    assert (run.error, run.trigger_context.type, run.deployment_id) == (None, "manual", made.id)
    assert runs.retrieve(run.id).session_id == run.session_id
    assert [each.id for each in runs.list(deployment_id=made.id, has_error=False)] == [run.id]
    assert list(runs.list(deployment_id=made.id, trigger_type="schedule")) == []
    session = client.beta.sessions.retrieve(run.session_id)
    assert (session.deployment_id, session.title) == (made.id, "Report")
    assert [each.id for each in client.beta.sessions.list(deployment_id=made.id)] == [session.id]
    assert list(client.beta.sessions.list(deployment_id="depl_none")) == []

    assert deployments.archive(made.id).archived_at is not None
    assert deployments.retrieve(made.id).status == "active"
    refused(anthropic.BadRequestError, lambda: deployments.run(made.id))
    assert [each.id for each in deployments.list()] == []
