"""Conversations with the threads of a Codex app-server."""
