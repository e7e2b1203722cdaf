"""OpenCode behind its server: one process for many sessions, spoken to over HTTP, heard over SSE."""
