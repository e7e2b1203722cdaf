"""Failures of the model's API and of OpenCode itself, in the one list of codes all agents share. Pure."""

from everyagent.agents.api_status import BY_STATUS
from everyagent.agents.opencode.protocol.wire import OpencodeFailure, SessionStatus
from everyagent.model.events import Error, ErrorCode, Retry, StopReason
from everyagent.model.parts import Json

#: The tested OpenCode retries this often. A turn with more retries, or a longer wait, is stopped.
RETRY_LIMIT = 5
WAIT_LIMIT_MS = 15 * 60 * 1000
ABORTED = "MessageAbortedError"
REMEDY = "Run `everyagent agents login opencode` as the user the daemon runs as, or give the session a key."

_BY_NAME: dict[str, ErrorCode] = {
    "ProviderAuthError": "auth",
    "ContextOverflowError": "context_exceeded",
    "ProviderModelNotFoundError": "model_not_found",
}
#: OpenCode describes the reason of a retry in a sentence only.
_BY_WORDS: dict[str, ErrorCode] = {
    "model not found": "model_not_found",
    "rate limit": "rate_limited",
    "too many requests": "rate_limited",
    "usage limit": "rate_limited",
    "429": "rate_limited",
    "overloaded": "overloaded",
    "unavailable": "overloaded",
    "503": "overloaded",
    "timed out": "timeout",
    "timeout": "timeout",
    "connection": "network",
    "typo in the url": "network",
    "unable to connect": "network",
    "api key": "auth",
    "no providers are available": "auth",
}
_STOPS: dict[str, StopReason] = {"MessageOutputLengthError": "max_tokens", "ContentFilterError": "refusal"}


def message(failure: OpencodeFailure) -> str:
    """The first line of a failure's message: OpenCode appends a stack trace."""
    text = failure.data.get("message")
    return (text if isinstance(text, str) and text else failure.name or "OpenCode failed.").partition("\n")[0]


def error(failure: OpencodeFailure) -> Error:
    code = _code(failure)
    words = message(failure)
    if code == "auth":
        words = f"{words.rstrip('.')}. {REMEDY}"
    elif code == "model_not_found":
        words = f"{words.rstrip('.?')}. OpenCode knows only models of providers that it has a login for. {REMEDY}"
    return Error(message=words, code=code, details=_details(failure))


def retrying(status: SessionStatus, delay_ms: int) -> Error:
    return Error(
        message=status.message or "The model's API failed.",
        code=_by_words(status.message),
        retry=Retry(attempt=status.attempt, delay_ms=delay_ms, max=RETRY_LIMIT),
    )


def gave_up(status: SessionStatus) -> Error:
    return Error(
        message=f"The model's API fails on and on, so the turn is ended: {status.message}",
        code=_by_words(status.message),
        details={"attempts": status.attempt},
    )


def stop_reason(failure: OpencodeFailure) -> StopReason:
    return _STOPS.get(failure.name, "error")


def _code(failure: OpencodeFailure) -> ErrorCode:
    if failure.name in _BY_NAME:
        return _BY_NAME[failure.name]
    status = failure.data.get("statusCode")
    if isinstance(status, int) and status in BY_STATUS:
        return BY_STATUS[status]
    return _by_words(message(failure))


def _by_words(words: str) -> ErrorCode:
    lowered = words.lower()
    for word, code in _BY_WORDS.items():
        if word in lowered:
            return code
    return "internal"


def _details(failure: OpencodeFailure) -> dict[str, Json] | None:
    facts: dict[str, Json] = {
        "reason": failure.name,
        "status": failure.data.get("statusCode"),
        "said": failure.data.get("responseBody"),
    }
    return {name: value for name, value in facts.items() if value} or None
