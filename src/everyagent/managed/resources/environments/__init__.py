"""Environments: where sessions run."""
