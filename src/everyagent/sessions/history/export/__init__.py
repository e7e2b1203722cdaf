"""A session as a file to read, keep or hand on: Markdown, HTML, or its events as they are.

Each module is one format; `open_export` is how the facade reaches them, page by page from the log.
"""

from everyagent.sessions.history.export.document import Export, ExportFormat, open_export

__all__ = ["Export", "ExportFormat", "open_export"]
