"""Codex CLI behind its app-server: one process for many threads."""
