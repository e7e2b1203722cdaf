"""Conversations with the sessions of an OpenCode server."""
