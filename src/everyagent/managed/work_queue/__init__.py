"""The work queue of self-hosted environments, and the API keys of its workers."""
