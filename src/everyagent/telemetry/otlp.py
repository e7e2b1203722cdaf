"""Sends spans over OTLP/HTTP with OpenTelemetry's SDK. Loaded only if telemetry is on: it needs `everyagent[otel]`."""

import logging
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

import requests
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import SpanContext, SpanKind, Status, StatusCode, TraceFlags

from everyagent import __version__
from everyagent.model.trace_context import TraceContext
from everyagent.telemetry.span import Span

#: `refused`: the collector will never take these spans. `away`: it takes none now. `failed`: it answered with another
#: error, which may be that of these spans alone.
Outcome: TypeAlias = Literal["sent", "refused", "away", "failed"]
_TIMEOUT_SECONDS: Final = 10.0
#: Statuses that say that the spans themselves are wrong, or too many at once.
_REFUSALS: Final = frozenset((400, 413, 415, 422))
#: Statuses with which OTLP has a sender wait and try again, for any spans.
_AWAY: Final = frozenset((None, 429, 502, 503, 504))
_KINDS: Final = {"internal": SpanKind.INTERNAL, "client": SpanKind.CLIENT}


class OtlpSender:
    """`endpoint` is the collector's, without `/v1/traces`. `send` blocks: it is called in a thread, one at a time."""

    def __init__(self, endpoint: str) -> None:
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)  # the courier reports failures, once
        session = requests.Session()
        session.hooks["response"].append(self._note)
        self._exporter = OTLPSpanExporter(
            f"{endpoint.rstrip('/')}/v1/traces", timeout=_TIMEOUT_SECONDS, session=session
        )
        self._resource = Resource.create({"service.name": "everyagent", "service.version": __version__})
        self._scope = InstrumentationScope("everyagent", __version__)
        self._answers: list[int] = []

    def send(self, spans: Sequence[Span]) -> tuple[Outcome, int | None]:
        """The outcome, and the status of the collector's answer, if there was one."""
        self._answers.clear()
        result = self._exporter.export([self._readable(span) for span in spans])
        status = self._answers[-1] if self._answers else None
        if result is SpanExportResult.SUCCESS:
            return "sent", status
        return ("refused" if status in _REFUSALS else "away" if status in _AWAY else "failed"), status

    def close(self) -> None:
        """Ends a `send` that waits to try again."""
        self._exporter.shutdown()

    def _note(self, response: requests.Response, *_: object, **__: object) -> None:
        self._answers.append(response.status_code)

    def _readable(self, span: Span) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.context, remote=False),
            parent=_context(span.parent, remote=span.remote) if span.parent else None,
            resource=self._resource,
            attributes=span.attributes | ({"error.type": span.error} if span.error else {}),
            events=[Event(event.name, dict(event.attributes), event.at * 1000) for event in span.events],
            kind=_KINDS[span.kind],
            status=Status(StatusCode.ERROR) if span.error else Status(StatusCode.UNSET),
            start_time=span.start * 1000,
            end_time=span.end * 1000,
            instrumentation_scope=self._scope,
        )


def _context(of: TraceContext, *, remote: bool) -> SpanContext:
    return SpanContext(int(of.trace_id, 16), int(of.span_id, 16), is_remote=remote, trace_flags=TraceFlags(1))
