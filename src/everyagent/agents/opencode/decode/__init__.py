"""Decodes OpenCode's events into drafts of universal events."""
