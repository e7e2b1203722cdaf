"""Transcripts: a session as readable entries, which exports render and new agents are seeded with."""

from everyagent.sessions.history.transcript.entries import AnyEntry
from everyagent.sessions.history.transcript.seed import as_seed
from everyagent.sessions.history.transcript.transcriber import TRANSCRIBED, AnyEvent, Transcriber, transcript

__all__ = ["TRANSCRIBED", "AnyEntry", "AnyEvent", "Transcriber", "as_seed", "transcript"]
