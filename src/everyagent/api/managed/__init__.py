"""The routes of the Managed Agents API (`/anthropic/v1`), one file a concept; loaded at the first request."""
