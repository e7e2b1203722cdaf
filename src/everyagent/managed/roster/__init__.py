"""Agents of a roster as threads of their coordinator's session: each is a session of its own."""
