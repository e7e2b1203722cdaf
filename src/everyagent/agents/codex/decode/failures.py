"""Failures of the model's API, in the one list of codes all agents share. Pure."""

import re

from everyagent.agents.api_status import BY_STATUS
from everyagent.agents.codex.protocol.wire import TurnFailure
from everyagent.model.events import Error, ErrorCode, Retry, StopReason
from everyagent.model.parts import Json

REMEDY = "Run `everyagent agents login codex` as the user the daemon runs as, or give the session an OPENAI_API_KEY."
_BY_NAME: dict[str, ErrorCode] = {
    "contextWindowExceeded": "context_exceeded",
    "sessionBudgetExceeded": "rate_limited",
    "usageLimitExceeded": "rate_limited",
    "rateLimitExceeded": "rate_limited",
    "serverOverloaded": "overloaded",
    "flexUnavailable": "overloaded",
    "policyCapacityUnavailable": "overloaded",
    "modelNotFound": "model_not_found",
    "unauthorized": "auth",
    "httpConnectionFailed": "network",
    "responseStreamConnectionFailed": "network",
    "responseStreamDisconnected": "network",
}
_STOPS: dict[str, StopReason] = {
    "sessionBudgetExceeded": "budget",
    "cyberPolicy": "refusal",
    "misalignmentPolicyViolation": "refusal",
}
_COUNT = re.compile(r"(\d+)/(\d+)")


def error(failure: TurnFailure) -> Error:
    code = _code(failure)
    message = f"{failure.message} {REMEDY}" if code == "auth" else failure.message
    return Error(message=message or "The model's API failed.", code=code, details=_details(failure))


def retrying(failure: TurnFailure, attempt: int) -> Error:
    """Codex does not report the delay; `attempt` is used where it does not report the attempt."""
    counted = _COUNT.search(failure.message)
    most = int(counted[2]) if counted else None
    return Error(
        message=failure.additional_details or failure.message,
        code=_code(failure),
        details=_details(failure),
        retry=Retry(attempt=int(counted[1]) if counted else attempt, delay_ms=0, max=most),
    )


def stop_reason(failure: TurnFailure | None) -> StopReason:
    return _STOPS.get(_name(failure), "error") if failure else "error"


def _code(failure: TurnFailure) -> ErrorCode:
    by_status = BY_STATUS.get(_status(failure) or 0)
    if by_status:
        return by_status
    if "environment variable" in failure.message:
        return "auth"
    return _BY_NAME.get(_name(failure), "internal")


def _details(failure: TurnFailure) -> dict[str, Json] | None:
    facts: dict[str, Json] = {"reason": _name(failure), "status": _status(failure), "said": failure.additional_details}
    return {name: value for name, value in facts.items() if value} or None


def _name(failure: TurnFailure | None) -> str:
    """Either a word, or an object with one key."""
    match failure.codex_error_info if failure else None:
        case str() as word:
            return word
        case {**facts} if facts:
            return str(next(iter(facts)))
        case _:
            return ""


def _status(failure: TurnFailure) -> int | None:
    match failure.codex_error_info:
        case {**facts} if facts:
            match next(iter(facts.values())):
                case {"httpStatusCode": int() as status}:
                    return status
                case _:
                    return None
        case _:
            return None
