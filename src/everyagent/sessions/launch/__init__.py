"""Everything that a session's agent is started with: choices, configuration, secrets, policies."""
