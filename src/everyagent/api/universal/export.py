"""The route that exports a session as a file."""

from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.api.streaming import Download
from everyagent.errors import SessionNotFound

routes = Routes("sessions")
Format: TypeAlias = Literal["markdown", "html", "jsonl"]

_MEDIA: dict[Format, tuple[str, str]] = {
    "markdown": ("text/markdown; charset=utf-8", "md"),
    "html": ("text/html; charset=utf-8", "html"),
    "jsonl": ("application/x-ndjson", "jsonl"),
}


class ExportQuery(Struct, frozen=True, kw_only=True):
    format: Format = "markdown"


@routes.add(
    "GET",
    "/v1/sessions/{session_id}/export",
    SessionNotFound,
    media=("text/markdown", "text/html", "application/x-ndjson"),
)
async def export_session(call: Call[ExportQuery, Nothing]) -> Download:
    """Export a session's transcript as Markdown or HTML, or its events as JSON lines."""
    session_id = call.path["session_id"]
    media_type, suffix = _MEDIA[call.query.format]
    chunks = await call.sessions.export(session_id, call.query.format)
    return Download(chunks, media_type, filename=f"{session_id}.{suffix}")
