"""The Python client, for async and sync programs. `calls/` describes the requests; the clients send them."""

from everyagent.client.async_client import AsyncClient, AsyncSession
from everyagent.client.errors import ApiError, AskPending, ClientError, Unreachable
from everyagent.client.event_codec import AnyEvent
from everyagent.client.sync_client import Client, Session
from everyagent.client.turn import Turn

__all__ = [
    "AnyEvent",
    "ApiError",
    "AskPending",
    "AsyncClient",
    "AsyncSession",
    "Client",
    "ClientError",
    "Session",
    "Turn",
    "Unreachable",
]
