"""The universal language: events, items, content parts, asks, usage, ids. Imports nothing of ours."""
