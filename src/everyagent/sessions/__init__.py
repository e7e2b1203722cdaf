"""Live sessions: turns, asks, resume, hibernation; and the facade that every API face calls."""

from everyagent.log.log import Receipt
from everyagent.sessions.agents import AgentInfo, Agents
from everyagent.sessions.sessions import EventsPage, EventsRequest, Sessions

__all__ = ["AgentInfo", "Agents", "EventsPage", "EventsRequest", "Receipt", "Sessions"]
