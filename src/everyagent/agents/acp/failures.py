"""Maps failures of ACP agents to the error codes that all agents share. Pure.

JSON-RPC codes do not say what failed, so the text decides.
"""

import re

import msgspec
from msgspec import Struct

from everyagent.agents.acp import wire
from everyagent.agents.api_status import BY_STATUS
from everyagent.errors import AgentFailed, AgentNotLoggedIn
from everyagent.model.events import Error, ErrorCode, Retry

#: The JSON-RPC code for "authentication required".
UNAUTHENTICATED = -32000
_COUNTED = re.compile(r"attempt (\d{1,9})/(\d{1,9})")
_WAITED = re.compile(r"waiting (\d{1,9})s")
_STATUS = re.compile(r"\b(4\d\d|5\d\d)\b")
_WORDS: tuple[tuple[str, ErrorCode], ...] = (
    ("api key", "auth"),
    ("authentication", "auth"),
    ("unauthorized", "auth"),
    ("not logged in", "auth"),
    ("rate limit", "rate_limited"),
    ("too many requests", "rate_limited"),
    ("quota", "rate_limited"),
    ("overloaded", "overloaded"),
    ("context length", "context_exceeded"),
    ("context window", "context_exceeded"),
    ("too long", "context_exceeded"),
    ("model not found", "model_not_found"),
    ("network", "network"),
    ("terminated", "network"),
    ("fetch failed", "network"),
    ("connect", "network"),
    ("timed out", "timeout"),
    ("timeout", "timeout"),
)


class _Details(Struct, frozen=True):
    details: str | None = None
    message: str | None = None


_details = msgspec.json.Decoder(str | _Details)


def code_of(text: str, rpc_code: int = 0) -> ErrorCode:
    if rpc_code == UNAUTHENTICATED:
        return "auth"
    status = rpc_code if 400 <= rpc_code < 600 else None
    if status is None and (found := _STATUS.search(text)):
        status = int(found[1])
    if status and status in BY_STATUS:
        return BY_STATUS[status]
    lower = text.lower()
    for word, code in _WORDS:
        if word in lower:
            return code
    return "internal"


def words(error: wire.AcpError) -> str:
    """The agent's own words: its message, and the details that most agents hide in `data`."""
    detail = _detail(bytes(error.data))
    if not detail or detail in error.message:
        return error.message or f"error {error.code}"
    return detail if error.message in ("", "Internal error") else f"{error.message}: {detail}"


def failure(text: str, rpc_code: int = 0, hint: str = "") -> Error:
    code = code_of(text, rpc_code)
    message = f"{text.rstrip('. ')}. {hint}" if code == "auth" and hint else text
    return Error(message=message, code=code)


def retrying(text: str, before: int) -> Error:
    """A retry that the agent reports as text; `before` is the number of retries in this turn so far.

    What is retried is a request to the model, so a failure without a known reason is the model's.
    """
    counted, waited = _COUNTED.search(text), _WAITED.search(text)
    retry = Retry(
        attempt=int(counted[1]) if counted else before + 1,
        delay_ms=int(waited[1]) * 1000 if waited else 0,
        max=int(counted[2]) if counted else None,
    )
    code = code_of(text)
    return Error(message=text, code="overloaded" if code == "internal" else code, retry=retry)


def refused(title: str, what: str, error: wire.AcpError, hint: str) -> AgentFailed:
    """The exception for a request of ours that the agent refused before a session was open."""
    text = words(error)
    if code_of(text, error.code) == "auth":
        return AgentNotLoggedIn(f"{title} is not logged in: {text.rstrip('. ')}. {hint}".strip())
    return AgentFailed(f"{title} refused `{what}`: {text.rstrip('. ')}. {hint}".strip())


def _detail(data: bytes) -> str:
    """`data` is text, or an object whose `details` or `message` is text."""
    try:
        detail = _details.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return ""
    return detail if isinstance(detail, str) else detail.details or detail.message or ""
