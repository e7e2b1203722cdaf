"""Anthropic's Managed Agents, on any coding agent: its resources, and its view of a session."""

from everyagent.managed.managed import Managed

__all__ = ["Managed"]
