"""A session as a person would tell it. Exports render its entries; a fresh agent is seeded with them."""

from everyagent.sessions.history.transcript.entries import AnyEntry
from everyagent.sessions.history.transcript.seed import as_seed
from everyagent.sessions.history.transcript.transcriber import TRANSCRIBED, AnyEvent, Transcriber, transcript

__all__ = ["TRANSCRIBED", "AnyEntry", "AnyEvent", "Transcriber", "as_seed", "transcript"]
