"""Anthropic's Managed Agents API on any coding agent: its resources, and its projection of sessions."""

from everyagent.managed.managed import Managed

__all__ = ["Managed"]
