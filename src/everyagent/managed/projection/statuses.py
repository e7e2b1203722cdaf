"""Status events of a session, emitted when its status changes."""

from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import (
    SessionError,
    SessionFailure,
    StatusIdle,
    StatusRescheduled,
    StatusRunning,
    StatusTerminated,
    Stop,
    StopDetails,
)
from everyagent.managed.projection.failures import Retry, failure
from everyagent.managed.projection.state import HeldError, Status


class Statuses:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def run(self) -> None:
        if self._set("running"):
            self._emitter.emit(StatusRunning(id=self._emitter.new_id(), processed_at=self._emitter.time))

    def reschedule(self, error: HeldError) -> None:
        """The agent retries by itself."""
        self.fail(error, "retrying")
        if self._set("rescheduling"):
            self._emitter.emit(StatusRescheduled(id=self._emitter.new_id(), processed_at=self._emitter.time))

    def rest(self, stop: Stop, details: StopDetails | None = None) -> None:
        """Idle; emitted each time, since the reason may differ."""
        self._set("idle")
        emitter = self._emitter
        emitter.emit(StatusIdle(id=emitter.new_id(), processed_at=emitter.time, stop_reason=stop, stop_details=details))

    def end(self) -> None:
        if self._set("terminated"):
            self._emitter.emit(StatusTerminated(id=self._emitter.new_id(), processed_at=self._emitter.time))

    def fail(self, error: HeldError, retry: Retry) -> None:
        self.emit_error(failure(error, retry))

    def emit_error(self, error: SessionFailure) -> None:
        emitter = self._emitter
        emitter.emit(SessionError(id=emitter.new_id(), processed_at=emitter.time, error=error))

    def _set(self, status: Status) -> bool:
        """Returns whether the status changed."""
        emitter, state = self._emitter, self._emitter.state
        if status == state.status:
            return False
        if state.status == "running":
            state.active_micros += max(0, emitter.at - state.running_since)
        if status == "running":
            state.running_since = emitter.at
        state.status = status
        return True
