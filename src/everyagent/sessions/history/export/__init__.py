"""Exports a session as a file: Markdown, HTML, or its events as JSON lines.

Each module is one format; the facade calls `open_export` and feeds it pages of events from the log.
"""

from everyagent.sessions.history.export.document import Export, ExportFormat, open_export

__all__ = ["Export", "ExportFormat", "open_export"]
