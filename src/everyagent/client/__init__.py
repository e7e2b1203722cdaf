"""The Python client, async and sync from one core: `calls/` says what to send, the two clients only send it."""

from everyagent.client.async_client import AsyncClient
from everyagent.client.errors import ApiError, AskPending, ClientError, Unreachable
from everyagent.client.event_codec import AnyEvent
from everyagent.client.sync_client import Client
from everyagent.client.turn import Turn

__all__ = ["AnyEvent", "ApiError", "AskPending", "AsyncClient", "Client", "ClientError", "Turn", "Unreachable"]
