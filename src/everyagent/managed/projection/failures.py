"""Translates errors of agents to the API's error types."""

from typing import Literal, TypeAlias

from everyagent.managed.projection.events import Retrying, SessionFailure
from everyagent.managed.projection.state import HeldError
from everyagent.model.events import Error, ErrorCode

Retry: TypeAlias = Literal["retrying", "exhausted", "terminal"]
_TYPES: dict[ErrorCode, str] = {
    "rate_limited": "model_rate_limited_error",
    "overloaded": "model_overloaded_error",
    "auth": "model_request_failed_error",
    "context_exceeded": "model_request_failed_error",
    "model_not_found": "model_request_failed_error",
    "network": "model_request_failed_error",
    "timeout": "model_request_failed_error",
    "agent_crashed": "unknown_error",
    "agent_not_installed": "unknown_error",
    "limit_exceeded": "unknown_error",
    "internal": "unknown_error",
}


def held(error: Error) -> HeldError:
    return HeldError(type=_TYPES[error.code] if error.code else "unknown_error", message=error.message)


def failure(held: HeldError, retry: Retry) -> SessionFailure:
    return SessionFailure(type=held.type, message=held.message, retry_status=Retrying(type=retry))
