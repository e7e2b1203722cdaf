"""Maps failures of the model's API to the error codes that all agents share. Pure."""

from everyagent.agents.claude import wire
from everyagent.model.events import Error, ErrorCode, Retry

_BY_NAME: dict[str, ErrorCode] = {
    "authentication_failed": "auth",
    "oauth_org_not_allowed": "auth",
    "billing_error": "auth",
    "rate_limit": "rate_limited",
    "overloaded": "overloaded",
    "model_not_found": "model_not_found",
    "connection_failed": "network",
    "connection_error": "network",
    "timeout": "timeout",
}
_BY_STATUS: dict[int, ErrorCode] = {
    401: "auth",
    403: "auth",
    404: "model_not_found",
    408: "timeout",
    413: "context_exceeded",
    429: "rate_limited",
    504: "timeout",
    529: "overloaded",
}
REMEDY = (
    "Run `everyagent agents login claude` as the user the daemon runs as, or give the session or the daemon "
    "an ANTHROPIC_API_KEY."
)


def code_of(name: str | None, status: int | None, text: str) -> ErrorCode:
    """`name` is the agent's own name of the failure."""
    if "prompt is too long" in text.lower():
        return "context_exceeded"
    known = _BY_NAME.get(name or "")
    if known:
        return known
    return _BY_STATUS.get(status or 0, "internal")


def retrying(frame: wire.ApiRetry) -> Error:
    code = "network" if frame.error_status is None else code_of(frame.error, frame.error_status, "")
    how = "could not be reached" if frame.error_status is None else f"answered {frame.error_status} ({frame.error})"
    return Error(
        message=f"The model's API {how}; the agent tries again.",
        code=code,
        retry=Retry(attempt=frame.attempt, delay_ms=round(frame.retry_delay_ms), max=frame.max_retries),
    )


def final(frame: wire.ClaudeAssistant, text: str) -> Error:
    """The failure that ends a turn, in the agent's words, with a remedy if there is one."""
    code = code_of(frame.api_error or frame.error, frame.api_error_status, text)
    return failure(text, code, frame.api_error_status)


def failure(text: str, code: ErrorCode, status: int | None = None) -> Error:
    return Error(
        message=remedied(text) if code == "auth" else text, code=code, details={"status": status} if status else None
    )


def remedied(text: str) -> str:
    return f"{text.rstrip('. ')}. {REMEDY}"
