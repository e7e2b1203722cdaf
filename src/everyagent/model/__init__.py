"""The universal data model: events, items, content parts, asks, usage, ids. Imports nothing else of this package."""
