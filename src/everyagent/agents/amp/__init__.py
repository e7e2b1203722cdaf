"""Amp, driven over its stream-json mode: one long-lived process a session, asked for permission through a delegate."""
