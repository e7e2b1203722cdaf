"""Spans of model requests: at most one open on the session's own thread and on each sub-agent's.

An agent reports the end of a request. The next one begins when every call of the last one has its result.
"""

from typing import TypeAlias

from everyagent.managed.projection.emitter import Emitter
from everyagent.managed.projection.events import ManagedEvent, ModelRequestEnd, ModelRequestStart, ModelRequestUsage
from everyagent.managed.projection.state import State, Thread
from everyagent.model.usage import Usage

Asking: TypeAlias = State | Thread


class Spans:
    def __init__(self, emitter: Emitter) -> None:
        self._emitter = emitter

    def open(self, on: Thread | None = None) -> None:
        asking = self._asking(on)
        if asking.span is None:
            asking.span, asking.called = self._emitter.new_id(), False
            self._emit(on, ModelRequestStart(id=asking.span, processed_at=self._emitter.time))

    def close(self, usage: Usage | None, *, failed: bool, on: Thread | None = None) -> None:
        asking = self._asking(on)
        if asking.span is None:
            return
        ended = ModelRequestEnd(
            id=self._emitter.new_id(),
            processed_at=self._emitter.time,
            model_request_start_id=asking.span,
            model_usage=model_usage(usage),
            is_error=failed or None,
        )
        asking.span = None
        self._emit(on, ended)

    def responded(self, usage: Usage, on: Thread | None) -> None:
        self.open(on)
        self.close(usage, failed=False, on=on)
        self.go_on(on)

    def called(self, on: Thread | None) -> None:
        self._asking(on).called = True

    def go_on(self, on: Thread | None) -> None:
        """Opens the next request's span, unless calls are open or the turn is ending."""
        state, thread = self._emitter.state, on.id if on else None
        asking = self._asking(on)
        waits = any(use.thread == thread for use in state.uses.values())
        if asking.called and not waits and not state.stopping and not state.over_budget:
            self.open(on)

    def _asking(self, on: Thread | None) -> Asking:
        return on or self._emitter.state

    def _emit(self, on: Thread | None, event: ManagedEvent) -> None:
        if on:
            self._emitter.emit_on_thread(on.id, event)
        else:
            self._emitter.emit(event)


def model_usage(usage: Usage | None) -> ModelRequestUsage:
    if usage is None:
        return ModelRequestUsage()
    return ModelRequestUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cache_creation_input_tokens=usage.cache_write_tokens,
        cache_read_input_tokens=usage.cache_read_tokens,
    )
