"""Memory stores: text that outlives sessions, kept version by version, and given to agents as a folder."""
