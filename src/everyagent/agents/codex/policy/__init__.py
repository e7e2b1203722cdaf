"""Permission modes and tool policies on Codex."""
