"""Permission modes and tool policies on OpenCode."""
