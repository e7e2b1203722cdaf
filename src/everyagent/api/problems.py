"""Error responses of the universal API, as RFC 9457 problems."""

from math import ceil

import msgspec

from everyagent.api.response import Response
from everyagent.errors import (
    EveryagentError,
    MethodNotAllowed,
    RateLimited,
    StorageFull,
    Unauthorized,
    Unavailable,
)
from everyagent.masking.live import mask_live_json

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`type` and `code` are stable; `detail` is for people. Errors may have further fields with their facts."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str


def unexpected() -> EveryagentError:
    """The error for a fault of the daemon, without internal details."""
    return EveryagentError("The daemon failed to handle the request. Its log has the details under this request_id.")


def problem_response(error: EveryagentError, request_id: str) -> Response:
    problem = Problem(
        type=f"urn:everyagent:error:{error.code}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        request_id=request_id,
    )
    body = mask_live_json(msgspec.json.encode(error.facts | msgspec.structs.asdict(problem)))
    return Response(body, error.status, headers_of(error), MEDIA_TYPE)


def headers_of(error: EveryagentError) -> dict[str, str]:
    """The response headers that belong to an error, in every API."""
    match error:
        case Unauthorized():
            return {"www-authenticate": 'Bearer realm="everyagent"'}
        case MethodNotAllowed():
            return {"allow": ", ".join(map(str, _listed(error.facts.get("allow"))))}
        case RateLimited():
            return {"retry-after": retry_after(error)}
        case Unavailable() | StorageFull():
            return {"retry-after": "1"}
        case _:
            return {}


def retry_after(error: RateLimited) -> str:
    seconds = error.facts.get("retryAfter")
    return str(max(1, ceil(seconds))) if isinstance(seconds, float) else "1"


def _listed(value: object) -> list[object]:
    return msgspec.convert(value, list[object]) if value else []
