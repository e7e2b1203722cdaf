"""Order rules of managed events, checked at every prefix of a session's stream."""

from collections.abc import Iterable

import msgspec

from everyagent.managed.projection.events import Stop
from everyagent.model.parts import Object

_STATUSES = {
    "session.status_running": "running",
    "session.status_rescheduled": "rescheduling",
    "session.status_idle": "idle",
    "session.status_terminated": "terminated",
}
_USES = ("agent.tool_use", "agent.mcp_tool_use", "agent.custom_tool_use")
_RESULTS = {
    "agent.tool_result": "tool_use_id",
    "agent.mcp_tool_result": "mcp_tool_use_id",
    "user.custom_tool_result": "custom_tool_use_id",
    "user.tool_result": "tool_use_id",
}


class BrokenRule(AssertionError):
    """An event that breaks an order rule."""


class ManagedRules:
    """Takes a session's events in stream order and raises `BrokenRule` at the first that breaks a rule."""

    def __init__(self) -> None:
        self.status = "idle"
        self.required: list[str] = []
        self._ids: dict[str, str] = {}
        self._requested: set[str] = set()
        self._uses: dict[str, str] = {}
        self._spans: set[str] = set()
        self._evaluations: set[str] = set()
        self._threads: dict[str, str] = {}
        self._time = ""

    def feed(self, bodies: Iterable[bytes]) -> "ManagedRules":
        for body in bodies:
            self._event(msgspec.json.decode(body, type=dict[str, object]))
        return self

    def _event(self, event: Object) -> None:
        kind, made = str(event["type"]), str(event["id"])
        _rule(self.status != "terminated", event, "nothing follows session.status_terminated")
        _rule(self._ids.setdefault(made, kind) == kind, event, "an id belongs to one event")
        time = event["processed_at"]
        if isinstance(time, str):
            _rule(time >= self._time, event, "times never decrease")
            self._time = time
        if kind in _STATUSES:
            self._status(event, _STATUSES[kind])
        elif kind in _USES:
            self._requested.add(made)
            if event.get("session_thread_id") is None:  # a sub-agent's result is on its own thread
                self._uses[made] = kind
        elif kind.startswith("user.") and kind in _RESULTS and event.get("session_thread_id") is not None:
            _rule(str(event[_RESULTS[kind]]) in self._requested, event, "a result for a thread names a use")
        elif kind in _RESULTS:
            use = str(event[_RESULTS[kind]])
            _rule(use in self._uses, event, "a result has its use before it, and is its only one")
            del self._uses[use]
        elif kind == "user.tool_confirmation":
            _rule(str(event["tool_use_id"]) in self._requested, event, "a confirmation names a use")
        else:
            self._span(event, kind, made)

    def _status(self, event: Object, status: str) -> None:
        again = status == "idle" and self.required
        _rule(status != self.status or bool(again), event, "a status event changes the status")
        self.status, self.required = status, []
        if status != "idle":
            return
        stop = msgspec.convert(event["stop_reason"], Stop)
        match stop.type:
            case "requires_action":
                self.required = stop.event_ids or []
                _rule(bool(self.required), event, "requires_action names what it requires")
                _rule(all(each in self._requested for each in self.required), event, "each of event_ids is a use")
            case _:
                _rule(not self._spans, event, "no model request is open when a turn is over")
                _rule(not self._evaluations, event, "no evaluation is open when a turn is over")
                _rule(not self._uses, event, "every use has its result when a turn is over")
                at_work = {"running", "rescheduled"} & set(self._threads.values())
                _rule(not at_work, event, "no thread runs when a turn is over")

    def _span(self, event: Object, kind: str, made: str) -> None:
        match kind:
            case "span.model_request_start":
                _rule(not self._spans, event, "one model request at a time")
                self._spans.add(made)
            case "span.model_request_end":
                _rule(event["model_request_start_id"] in self._spans, event, "a span that ends has begun")
                self._spans.clear()
            case "span.outcome_evaluation_start":
                self._evaluations.add(made)
            case "span.outcome_evaluation_end":
                start = str(event["outcome_evaluation_start_id"])
                _rule(start in self._evaluations, event, "an evaluation that ends has begun")
                self._evaluations.discard(start)
            case "session.thread_created":
                self._threads[str(event["session_thread_id"])] = "idle"
            case (
                "session.thread_status_running"
                | "session.thread_status_rescheduled"
                | "session.thread_status_idle"
                | "session.thread_status_terminated"
            ):
                thread = str(event["session_thread_id"])
                _rule(thread in self._threads, event, "a thread is made before it runs")
                self._threads[thread] = kind.removeprefix("session.thread_status_")
            case _:
                return


def _rule(kept: bool, event: Object, rule: str) -> None:
    if not kept:
        raise BrokenRule(f"{rule}: {event}")
