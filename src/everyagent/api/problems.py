"""Errors as RFC 9457 problems: what every request that fails is answered with."""

import msgspec
from starlette.responses import Response

from everyagent.errors import (
    EveryagentError,
    MethodNotAllowed,
    StorageFull,
    Unauthorized,
    Unavailable,
)

MEDIA_TYPE = "application/problem+json"


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`type` and `code` never change for an error; `detail` is for people. An error's own facts are beside these."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    request_id: str


def unexpected() -> EveryagentError:
    """What a client is told of a fault of ours: where to look, and nothing of how it looks inside."""
    return EveryagentError("The daemon met a fault of its own; its log tells more under this request_id.")


def problem_response(error: EveryagentError, request_id: str) -> Response:
    problem = Problem(
        type=f"urn:everyagent:error:{error.code}",
        title=error.title,
        status=error.status,
        detail=error.detail,
        code=error.code,
        request_id=request_id,
    )
    body = msgspec.json.encode(error.facts | msgspec.structs.asdict(problem))
    return Response(body, error.status, _headers(error), MEDIA_TYPE)


def _headers(error: EveryagentError) -> dict[str, str]:
    match error:
        case Unauthorized():
            return {"www-authenticate": 'Bearer realm="everyagent"'}
        case MethodNotAllowed():
            return {"allow": ", ".join(map(str, _listed(error.facts.get("allow"))))}
        case Unavailable() | StorageFull():
            return {"retry-after": "1"}
        case _:
            return {}


def _listed(value: object) -> list[object]:
    return msgspec.convert(value, list[object]) if value else []
