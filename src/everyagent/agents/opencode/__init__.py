"""OpenCode over its server's HTTP API and event streams: one process for many sessions."""
