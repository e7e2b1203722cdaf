"""Outcomes: the agent works and a judge evaluates, until it is satisfied or the attempts are used up."""

import anthropic
from loose import Loose
from refused import refused
from stage import Talk, message, new_session, one, types


def outcome(rubric: str, **more: object) -> dict[str, object]:
    return {
        "type": "user.define_outcome",
        "description": "A greeting. [hello]",
        "rubric": {"type": "text", "content": rubric},
        **more,
    }


def flow(client: Loose, agent: str = "mock") -> None:
    session = new_session(client, agent)
    talk = Talk(client, session.id)
    received = talk.say(outcome('Good: {"result": "satisfied", "explanation": "As it should be."}'))
    order = types(received)
    assert order[:2] == ["user.define_outcome", "session.status_running"]
    assert order[-4:] == [
        "span.outcome_evaluation_start",
        "span.outcome_evaluation_ongoing",
        "span.outcome_evaluation_end",
        "session.status_idle",
    ]
    defined, end = received[0], one(received, "span.outcome_evaluation_end")
    assert (end.result, end.explanation, end.iteration) == ("satisfied", "As it should be.", 0)
    assert end.outcome_id == defined.outcome_id
    assert end.usage.input_tokens > 0
    received = talk.say(outcome('Bad: {"result": "needs_revision", "explanation": "More."}', max_iterations=2))
    ends = [event for event in received if event.type == "span.outcome_evaluation_end"]
    assert [(event.result, event.iteration) for event in ends] == [("needs_revision", 0), ("max_iterations_reached", 1)]
    assert received[-1].stop_reason.type == "end_turn"
    evaluations = client.beta.sessions.retrieve(session.id).outcome_evaluations
    assert [each.result for each in evaluations] == ["satisfied", "max_iterations_reached"]
    talk.send(outcome("[slow seconds=60]", max_iterations=3))
    talk.until("session.status_running")
    talk.send({"type": "user.interrupt"})
    assert talk.until("session.status_idle")[-1].stop_reason.type == "end_turn"
    assert client.beta.sessions.retrieve(session.id).outcome_evaluations[2].result == "interrupted"
    refused(anthropic.BadRequestError, lambda: talk.send(outcome("x", max_iterations=21)))
    assert talk.say(message("[hello]"))[-1].stop_reason.type == "end_turn"
    talk.close()
