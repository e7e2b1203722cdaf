"""What a session's agent is started with: choices, config, secrets, policies."""
