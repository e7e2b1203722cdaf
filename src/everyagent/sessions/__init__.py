"""Live sessions: turns, asks, resume, hibernation; and the facade that every API calls."""

from everyagent.log.chunk import EventChunk
from everyagent.log.log import JoinedPage, Receipt, SessionQuery
from everyagent.sessions.history.events_request import EventsRequest
from everyagent.sessions.launch.agents import AgentInfo, Agents, Installing
from everyagent.sessions.sessions import Sessions
from everyagent.sessions.usage_report import UsageRequest

__all__ = [
    "AgentInfo",
    "Agents",
    "EventChunk",
    "EventsRequest",
    "Installing",
    "JoinedPage",
    "Receipt",
    "SessionQuery",
    "Sessions",
    "UsageRequest",
]
