"""Environments in which sessions run."""
