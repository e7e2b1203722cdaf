"""Error codes for the HTTP status of a model's API. Used by adapters."""

from everyagent.model.events import ErrorCode

BY_STATUS: dict[int, ErrorCode] = {
    401: "auth",
    403: "auth",
    404: "model_not_found",
    408: "timeout",
    429: "rate_limited",
    503: "overloaded",
    504: "timeout",
    529: "overloaded",
}
