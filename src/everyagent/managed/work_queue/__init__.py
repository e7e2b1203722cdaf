"""The work queue of self-hosted environments, and the keys of its workers."""
