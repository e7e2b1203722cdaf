"""Renders sessions and threads from their stored form. Pure."""

import msgspec
from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.log.log import SessionRecord
from everyagent.log.projections import ProjectionRecord
from everyagent.managed.projection.document import SessionDocument
from everyagent.managed.projection.naming import thread_id
from everyagent.managed.projection.state import SessionOutcome, State, Thread
from everyagent.managed.projection.turns import usage_of
from everyagent.managed.resources.record_store import moment
from everyagent.managed.sessions.shape import ManagedSession, OutcomeEvaluation, SessionStats, SessionThread
from everyagent.model.parts import Object

_state = msgspec.json.Decoder(State)
_document = msgspec.json.Decoder(SessionDocument)


def state_of(projection: ProjectionRecord) -> State:
    return _state.decode(projection.state)


def document_of(projection: ProjectionRecord) -> SessionDocument:
    return _document.decode(projection.document)


def subagents_of(projection: ProjectionRecord) -> dict[str, Thread]:
    """The threads of sub-agents, by the item id of the call that started each, in the order they were created."""
    return {**document_of(projection).threads, **state_of(projection).threads}


def new_session(
    record: SessionRecord, document: SessionDocument, resources: list[Object], *, begun: bool
) -> ManagedSession:
    """A session at its creation; `begun`: it has initial events."""
    created = rfc3339(record.created_at)
    return ManagedSession(
        id=record.session_id,
        status="running" if begun else "idle",
        agent=document.agent,
        environment_id=document.environment_id,
        title=record.shown_title,
        metadata=record.metadata,
        resources=resources,
        vault_ids=document.vault_ids,
        deployment_id=document.deployment_id,
        budget=document.budget,
        stats=SessionStats(active_seconds=0, duration_seconds=0),
        usage=usage_of(State()),
        outcome_evaluations=[],
        created_at=created,
        updated_at=created,
        archived_at=None,
    )


def shown(record: SessionRecord, projection: ProjectionRecord, resources: list[Object], now: int) -> ManagedSession:
    state, document = state_of(projection), document_of(projection)
    outcomes = (*document.outcomes, *state.outcomes, state.outcome)
    return ManagedSession(
        id=record.session_id,
        status=projection.status,
        agent=document.agent,
        environment_id=projection.environment_id,
        title=record.shown_title,
        metadata=record.metadata,
        resources=resources,
        vault_ids=document.vault_ids,
        deployment_id=document.deployment_id,
        budget=document.budget,
        stats=_stats(state, projection, now),
        usage=usage_of(state),
        outcome_evaluations=[_evaluation(outcome) for outcome in outcomes if outcome],
        created_at=rfc3339(projection.created_at),
        updated_at=rfc3339(max(projection.updated_at, record.updated_at)),
        archived_at=moment(projection.archived_at),
    )


def threads_of(projection: ProjectionRecord, now: int) -> list[SessionThread]:
    """The session's own thread first, then those of its sub-agents in the order they were created."""
    state, document = state_of(projection), document_of(projection)
    agent = {name: value for name, value in document.agent.items() if name != "multiagent"}
    primary = SessionThread(
        id=thread_id(projection.session_id),
        session_id=projection.session_id,
        parent_thread_id=None,
        agent=agent,
        status=projection.status,
        created_at=rfc3339(projection.created_at),
        updated_at=rfc3339(projection.updated_at),
        archived_at=moment(projection.archived_at),
        stats=_stats(state, projection, now),
        usage=usage_of(state, roster=False),
    )
    return [primary, *(_thread(projection, thread, agent) for thread in subagents_of(projection).values())]


def _thread(projection: ProjectionRecord, thread: Thread, agent: Object) -> SessionThread:
    return SessionThread(
        id=thread.id,
        session_id=projection.session_id,
        parent_thread_id=thread.parent or thread_id(projection.session_id),
        agent={**agent, "name": thread.name},
        status="terminated" if projection.status == "terminated" else thread.status,
        created_at=rfc3339(thread.created_at),
        updated_at=rfc3339(thread.updated_at),
        archived_at=moment(thread.archived_at),
    )


def roster_thread(thread: SessionThread, own: ProjectionRecord, now: int) -> SessionThread:
    """A thread of the roster, with what its own session knows."""
    state = state_of(own)
    agent = {name: value for name, value in document_of(own).agent.items() if name != "multiagent"}
    return replace(thread, agent=agent, stats=_stats(state, own, now), usage=usage_of(state))


def _stats(state: State, projection: ProjectionRecord, now: int) -> SessionStats:
    running = max(0, now - state.running_since) if state.status == "running" else 0
    end = projection.updated_at if state.status == "terminated" else now
    return SessionStats(
        active_seconds=(state.active_micros + running) / 1_000_000,
        duration_seconds=max(0, end - projection.created_at) / 1_000_000,
    )


def _evaluation(outcome: SessionOutcome) -> OutcomeEvaluation:
    return OutcomeEvaluation(
        outcome_id=outcome.id,
        description=outcome.description,
        iteration=outcome.iteration,
        result=outcome.result,
        explanation=outcome.explanation,
        completed_at=moment(outcome.completed_at),
    )
