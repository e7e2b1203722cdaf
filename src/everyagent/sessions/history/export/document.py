"""The contract of exports: an opening, a piece for each event, a closing; never the whole session in memory."""

from collections.abc import Iterable, Iterator
from typing import Literal, Protocol, TypeAlias, assert_never

import msgspec

from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import Envelope
from everyagent.model.parts import Json
from everyagent.model.sessions import SessionInfo
from everyagent.sessions.history.transcript import TRANSCRIBED, AnyEntry, AnyEvent, Transcriber

ExportFormat: TypeAlias = Literal["markdown", "html", "jsonl"]
_envelopes = msgspec.json.Decoder(Envelope[Json])


class Document(Protocol):
    """One format of transcripts."""

    def opening(self, info: SessionInfo) -> str: ...
    def entry(self, entry: AnyEntry) -> str: ...
    def closing(self) -> str: ...


class Export(Protocol):
    """Stored events in, a file's bytes out. `types` are the event types it needs; empty means all."""

    media_type: str
    types: frozenset[str]

    def opening(self) -> bytes: ...
    def event(self, body: bytes) -> bytes: ...
    def closing(self) -> bytes: ...


def open_export(format: ExportFormat, info: SessionInfo) -> Export:
    # Imported at use: a daemon that exports nothing should not pay for it.
    from everyagent.sessions.history.export import html, jsonl, markdown

    match format:
        case "markdown":
            return TranscriptExport(info, markdown.Markdown(), "text/markdown; charset=utf-8")
        case "html":
            return TranscriptExport(info, html.Html(), "text/html; charset=utf-8")
        case "jsonl":
            return jsonl.JsonLines()
        case _:
            assert_never(format)


class TranscriptExport:
    def __init__(self, info: SessionInfo, document: Document, media_type: str) -> None:
        self.media_type = media_type
        self.types = TRANSCRIBED
        self._info = info
        self._document = document
        self._transcriber = Transcriber()

    def opening(self) -> bytes:
        return self._document.opening(self._info).encode()

    def event(self, body: bytes) -> bytes:
        return "".join(self._document.entry(each) for each in self._transcriber.feed(_decoded(body))).encode()

    def closing(self) -> bytes:
        rest = "".join(self._document.entry(each) for each in self._transcriber.finish())
        return (rest + self._document.closing()).encode()


def stream(document: Document, info: SessionInfo, events: Iterable[AnyEvent]) -> Iterator[str]:
    transcriber = Transcriber()
    yield document.opening(info)
    for event in events:
        for entry in transcriber.feed(event):
            yield document.entry(entry)
    for entry in transcriber.finish():
        yield document.entry(entry)
    yield document.closing()


def _decoded(body: bytes) -> AnyEvent:
    """Decodes an event, also one of a newer daemon with an unknown shape, such as a new kind of content part."""
    try:
        return decode_event(body)
    except msgspec.ValidationError:
        envelope = _envelopes.decode(body)
        return Envelope(
            event_id=envelope.event_id,
            sequence=envelope.sequence,
            time=envelope.time,
            session_id=envelope.session_id,
            native_session_id=envelope.native_session_id,
            source=envelope.source,
            synthetic=envelope.synthetic,
            type=envelope.type,
            data=UnknownData(envelope.data),
        )
