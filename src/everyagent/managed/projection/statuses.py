"""Status events of a session, emitted when its status changes."""

from everyagent.managed.projection.document import SessionDocument
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
    ThreadIdle,
    ThreadRescheduled,
    ThreadRunning,
    ThreadTerminated,
)
from everyagent.managed.projection.failures import Retry, failure
from everyagent.managed.projection.state import HeldError, Status


class Statuses:
    """In a session that is a thread of a roster, they are those of the thread."""

    def __init__(self, emitter: Emitter, document: SessionDocument) -> None:
        self._emitter = emitter
        self._thread = document.thread_of
        self._name = document.agent_name

    def run(self) -> None:
        if self._set("running"):
            self._emit(StatusRunning, ThreadRunning)

    def reschedule(self, error: HeldError) -> None:
        """The agent retries by itself."""
        self.fail(error, "retrying")
        if self._set("rescheduling"):
            self._emit(StatusRescheduled, ThreadRescheduled)

    def rest(self, stop: Stop, details: StopDetails | None = None) -> None:
        """Idle; emitted each time, since the reason may differ."""
        self._set("idle")
        made, time = self._emitter.new_id(), self._emitter.time
        if self._thread is None:
            self._emitter.emit(StatusIdle(id=made, processed_at=time, stop_reason=stop, stop_details=details))
        else:
            self._emitter.emit(
                ThreadIdle(
                    id=made,
                    processed_at=time,
                    session_thread_id=self._thread.thread,
                    agent_name=self._name,
                    stop_reason=stop,
                    stop_details=details,
                )
            )

    def end(self) -> None:
        if self._set("terminated"):
            self._emit(StatusTerminated, ThreadTerminated)

    def fail(self, error: HeldError, retry: Retry) -> None:
        self.emit_error(failure(error, retry))

    def emit_error(self, error: SessionFailure) -> None:
        emitter = self._emitter
        emitter.emit(SessionError(id=emitter.new_id(), processed_at=emitter.time, error=error))

    def _emit(
        self,
        own: type[StatusRunning | StatusRescheduled | StatusTerminated],
        of_thread: type[ThreadRunning | ThreadRescheduled | ThreadTerminated],
    ) -> None:
        made, time = self._emitter.new_id(), self._emitter.time
        if self._thread is None:
            self._emitter.emit(own(id=made, processed_at=time))
        else:
            thread = self._thread.thread
            self._emitter.emit(of_thread(id=made, processed_at=time, session_thread_id=thread, agent_name=self._name))

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
