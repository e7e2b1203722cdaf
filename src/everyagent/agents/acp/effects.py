"""Messages that the decoder passes to the driver: answers to our requests, and requests of the agent."""

from typing import TypeAlias

from msgspec import Raw, Struct

from everyagent.agents.acp import wire

#: Requests for files and terminals on the client's side.
CLIENT_METHODS = frozenset(
    {
        "fs/read_text_file",
        "fs/write_text_file",
        "terminal/create",
        "terminal/output",
        "terminal/wait_for_exit",
        "terminal/kill",
        "terminal/release",
    }
)


class AcpReply(Struct, frozen=True):
    """The answer to a request of ours."""

    id: int
    result: Raw
    error: wire.AcpError | None


class UnservedAcpRequest(Struct, frozen=True):
    """A request that the daemon does not serve. It is refused, so that the agent does not wait."""

    id: wire.Id
    method: str


class SettledAcpRequest(Struct, frozen=True):
    """A request that the session's policies or its permission mode answer, or that came outside a turn."""

    id: wire.Id
    result: object


class ClientRequest(Struct, frozen=True):
    """A request for a file or a terminal of the client's side."""

    id: wire.Id
    method: str
    params: Raw


AcpEffect: TypeAlias = AcpReply | UnservedAcpRequest | SettledAcpRequest | ClientRequest
