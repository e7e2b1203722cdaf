"""OpenCode's protocol: HTTP requests, the event stream, and which session each event belongs to."""
