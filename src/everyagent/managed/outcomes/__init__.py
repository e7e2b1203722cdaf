"""Outcomes: a second session of the same agent judges the work of the first."""
