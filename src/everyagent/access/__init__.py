"""API keys: who may do what, how often, and for how much."""
