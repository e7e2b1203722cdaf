"""Decodes app-server messages into drafts of universal events."""
