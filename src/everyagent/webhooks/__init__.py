"""Webhooks: tells other servers what happens in sessions, in signed HTTP requests made from the log."""
