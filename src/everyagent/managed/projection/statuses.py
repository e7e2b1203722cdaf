"""Status events of a session, emitted when its status changes."""

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
from everyagent.managed.projection.teller import Teller


class Statuses:
    def __init__(self, teller: Teller) -> None:
        self._teller = teller

    def run(self) -> None:
        if self._set("running"):
            self._teller.tell(StatusRunning(id=self._teller.new_id(), processed_at=self._teller.time))

    def reschedule(self, error: HeldError) -> None:
        """The agent retries by itself."""
        self.fail(error, "retrying")
        if self._set("rescheduling"):
            self._teller.tell(StatusRescheduled(id=self._teller.new_id(), processed_at=self._teller.time))

    def rest(self, stop: Stop, details: StopDetails | None = None) -> None:
        """Idle; emitted each time, since the reason may differ."""
        self._set("idle")
        teller = self._teller
        teller.tell(StatusIdle(id=teller.new_id(), processed_at=teller.time, stop_reason=stop, stop_details=details))

    def end(self) -> None:
        if self._set("terminated"):
            self._teller.tell(StatusTerminated(id=self._teller.new_id(), processed_at=self._teller.time))

    def fail(self, error: HeldError, retry: Retry) -> None:
        self.tell_error(failure(error, retry))

    def tell_error(self, error: SessionFailure) -> None:
        teller = self._teller
        teller.tell(SessionError(id=teller.new_id(), processed_at=teller.time, error=error))

    def _set(self, status: Status) -> bool:
        """Returns whether the status changed."""
        teller, state = self._teller, self._teller.state
        if status == state.status:
            return False
        if state.status == "running":
            state.active_micros += max(0, teller.at - state.running_since)
        if status == "running":
            state.running_since = teller.at
        state.status = status
        return True
