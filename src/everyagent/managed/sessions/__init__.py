"""Managed sessions: create, update, present, exchange events with clients."""
