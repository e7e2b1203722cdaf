"""Deployments: an agent with everything it needs to run by itself, on a schedule or when asked."""
