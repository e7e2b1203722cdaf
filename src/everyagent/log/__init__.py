"""The durable log, and everything that must be in one transaction with it."""
