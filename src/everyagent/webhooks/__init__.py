"""Webhooks: messages about sessions, made from the log, which other servers get as signed HTTP requests."""
