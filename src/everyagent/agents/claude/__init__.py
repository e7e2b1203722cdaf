"""Claude Code, driven over its stream-json protocol: one long-lived process a session."""
