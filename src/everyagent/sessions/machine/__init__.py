"""The session machine: how a session's state changes, and what is written when it does."""
