"""Agents: versioned definitions that sessions are created from."""
