"""A session as a person would tell it. Exports render its entries; a fresh agent is seeded with them."""

from everyagent.sessions.transcript.entries import AnyEntry
from everyagent.sessions.transcript.seed import as_seed
from everyagent.sessions.transcript.transcriber import TRANSCRIBED, AnyEvent, Transcriber, transcript

__all__ = ["TRANSCRIBED", "AnyEntry", "AnyEvent", "Transcriber", "as_seed", "transcript"]
