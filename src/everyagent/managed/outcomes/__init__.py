"""Outcomes: a second run of a session's agent judges the first."""
