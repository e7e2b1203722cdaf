"""A call that was allowed after a restart is granted to the next agent without asking."""

import msgspec

from everyagent.managed.projection.commands import CommandFrame, Sent, SentEvent
from everyagent.managed.projection.projector import Projector
from everyagent.managed.sessions.client_events import UserToolConfirmation
from everyagent.model.events import (
    EventData,
    PermissionRequested,
    PermissionResolved,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)
from everyagent.testing.managed_rules import ManagedRules
from tests.managed.test_projection import projector


def asked(ask_id: str, command: str) -> list[EventData]:
    request = PermissionRequested(
        permission_id=ask_id, action="bash", status="requested", tool="Bash", input={"command": command}
    )
    return [request, SessionUpdated(status="waiting")]


def frame(projection: Projector, rules: ManagedRules, body: bytes, *events: EventData, daemon: bool = False) -> None:
    projection.begin_frame("daemon" if daemon else "from_client", body, 1_700_000_000_000_000)
    for data in events:
        projection.event(data)
    projection.end_frame()
    step = projection.take()
    rules.feed(event.body for event in step.events) if step else None


def restarted(rules: ManagedRules) -> tuple[Projector, str]:
    """A projection whose one confirmation was parked."""
    projection = projector()
    frame(projection, rules, b"{}", TurnStarted(turn_id="t1", input_item_ids=[]), *asked("p1", "ls"))
    (use,) = projection.state.actions
    ended = TurnEnded(turn_id="t1", stop_reason="error", pending_asks=["p1"])
    frame(projection, rules, b'{"cause":"daemon_restarted"}', ended, daemon=True)
    assert rules.required == [use]
    return projection, use


def allow(projection: Projector, rules: ManagedRules, use: str) -> None:
    event = UserToolConfirmation(id="sevt_c", tool_use_id=use, result="allow")
    sent = Sent(events=[SentEvent(event=event, answers=use)])
    allowed = PermissionResolved(permission_id="p1", action="bash", status="approved", reply="once")
    started = TurnStarted(turn_id="t2", input_item_ids=["itm_2"])
    running = SessionUpdated(status="running")
    frame(projection, rules, msgspec.json.encode(CommandFrame(managed=sent)), allowed, started, running)


def test_the_same_call_is_granted_after_a_restart() -> None:
    rules = ManagedRules()
    projection, use = restarted(rules)
    allow(projection, rules, use)
    assert rules.status == "running"
    frame(projection, rules, b"{}", *asked("p2", "ls")[:1])
    allowed = PermissionResolved(permission_id="p2", action="bash", status="approved", reply="once")
    frame(projection, rules, b'{"cause":"granted_before"}', allowed, daemon=True)
    assert rules.status == "running", "nobody is asked"
    assert projection.state.actions == {}


def test_any_other_call_needs_a_confirmation() -> None:
    rules = ManagedRules()
    projection, use = restarted(rules)
    allow(projection, rules, use)
    frame(projection, rules, b"{}", *asked("p2", "rm -r"))
    assert (rules.status, len(rules.required)) == ("idle", 1)


def test_a_grant_ends_with_its_turn() -> None:
    rules = ManagedRules()
    projection, use = restarted(rules)
    allow(projection, rules, use)
    frame(projection, rules, b"{}", TurnEnded(turn_id="t2", stop_reason="end_turn"))
    frame(projection, rules, b"{}", TurnStarted(turn_id="t3", input_item_ids=[]), *asked("p3", "ls"))
    assert rules.status == "idle"
