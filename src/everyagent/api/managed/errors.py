"""Error responses in Anthropic's envelope."""

import msgspec

from everyagent.api.problems import headers_of
from everyagent.api.response import Response
from everyagent.errors import (
    BadRequest,
    BudgetExceeded,
    Conflict,
    EveryagentError,
    Forbidden,
    MemoryChanged,
    MemoryPathTaken,
    MethodNotAllowed,
    NotFound,
    PreconditionFailed,
    RateLimited,
    RecordNotFound,
    TooLarge,
    Unauthorized,
    Unavailable,
    UnsupportedMedia,
)
from everyagent.masking.live import mask_live_json


class ErrorBody(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`details` has the facts of the error and its `error_code`.

    `conflicting_*` name the memory that is in the way.
    """

    type: str
    message: str
    details: dict[str, object] | None = None
    conflicting_memory_id: str | None = None
    conflicting_path: str | None = None


class ErrorEnvelope(msgspec.Struct, frozen=True, kw_only=True, tag="error"):
    error: ErrorBody
    request_id: str


def error_response(error: EveryagentError, request_id: str) -> Response:
    body = ErrorBody(type=error_type(error), message=error.detail, details=_details(error), **_in_the_way(error))
    return Response(
        mask_live_json(msgspec.json.encode(ErrorEnvelope(error=body, request_id=request_id))),
        error.status,
        _headers(error),
        "application/json",
    )


def error_type(error: EveryagentError) -> str:
    match error:
        case BadRequest() | MethodNotAllowed() | PreconditionFailed() | TooLarge() | UnsupportedMedia():
            return "invalid_request_error"
        case Unauthorized():
            return "authentication_error"
        case BudgetExceeded():
            return "billing_error"
        case RateLimited():
            return "rate_limit_error"
        case Forbidden():
            return "permission_error"
        case NotFound():
            return "not_found_error"
        case MemoryChanged():
            return "memory_precondition_failed_error"
        case MemoryPathTaken():
            return "memory_path_conflict_error"
        case Conflict():
            return "conflict_error"
        case Unavailable():
            return "overloaded_error"
        case _:
            return "api_error"


def _details(error: EveryagentError) -> dict[str, object] | None:
    kind = error.facts.get("kind") if isinstance(error, RecordNotFound) else None
    details = {"error_code": f"{kind}_not_found" if kind else error.code} | error.facts
    return {name: value for name, value in details.items() if value is not None}


def _in_the_way(error: EveryagentError) -> dict[str, str]:
    if not isinstance(error, MemoryPathTaken):
        return {}
    return {name: str(error.facts[name]) for name in ("conflicting_memory_id", "conflicting_path")}


def _headers(error: EveryagentError) -> dict[str, str]:
    """SDKs retry a 409 unless a header forbids it."""
    return {"x-should-retry": "false"} if isinstance(error, Conflict) else headers_of(error)
