"""Agents: versioned definitions of what a session runs."""
