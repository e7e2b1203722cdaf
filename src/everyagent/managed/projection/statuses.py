"""The status of a session, and the spans of its model requests: told when they change, and only then."""

from everyagent.managed.events import (
    Failure,
    ModelRequestEnd,
    ModelRequestStart,
    ModelUsage,
    SessionError,
    StatusIdle,
    StatusRescheduled,
    StatusRunning,
    StatusTerminated,
    Stop,
    StopDetails,
)
from everyagent.managed.projection.failures import Retry, failure
from everyagent.managed.projection.state import Held, Status
from everyagent.managed.projection.teller import Teller
from everyagent.model.usage import Usage


class Statuses:
    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def run(self) -> None:
        if self._set("running"):
            self._teller.tell(StatusRunning(id=self._teller.new_id(), processed_at=self._teller.time))
        self.open_span()

    def reschedule(self, error: Held) -> None:
        """The agent tries again by itself."""
        self.close_span(None, failed=True)
        self.fail(error, "retrying")
        if self._set("rescheduling"):
            self._teller.tell(StatusRescheduled(id=self._teller.new_id(), processed_at=self._teller.time))

    def rest(self, stop: Stop, details: StopDetails | None = None) -> None:
        """Idle, and why; told each time, since the reason may be another."""
        self._set("idle")
        teller = self._teller
        teller.tell(StatusIdle(id=teller.new_id(), processed_at=teller.time, stop_reason=stop, stop_details=details))

    def end(self) -> None:
        if self._set("terminated"):
            self._teller.tell(StatusTerminated(id=self._teller.new_id(), processed_at=self._teller.time))

    def fail(self, error: Held, retry: Retry) -> None:
        self.tell_error(failure(error, retry))

    def tell_error(self, error: Failure) -> None:
        teller = self._teller
        teller.tell(SessionError(id=teller.new_id(), processed_at=teller.time, error=error))

    def open_span(self) -> None:
        teller = self._teller
        if teller.state.turn and teller.state.span is None:
            teller.state.span = teller.new_id()
            teller.tell(ModelRequestStart(id=teller.state.span, processed_at=teller.time))

    def close_span(self, usage: Usage | None, *, failed: bool) -> None:
        teller = self._teller
        if teller.state.span is None:
            return
        teller.tell(
            ModelRequestEnd(
                id=teller.new_id(),
                processed_at=teller.time,
                model_request_start_id=teller.state.span,
                model_usage=model_usage(usage),
                is_error=failed or None,
            )
        )
        teller.state.span = None

    def _set(self, status: Status) -> bool:
        """Whether it is another than before."""
        teller, state = self._teller, self._teller.state
        if status == state.status:
            return False
        if state.status == "running":
            state.active_micros += max(0, teller.at - state.running_since)
        if status == "running":
            state.running_since = teller.at
        state.status = status
        return True


def model_usage(usage: Usage | None) -> ModelUsage:
    if usage is None:
        return ModelUsage()
    return ModelUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_creation_input_tokens=usage.cache_write_tokens,
        cache_read_input_tokens=usage.cache_read_tokens,
    )
