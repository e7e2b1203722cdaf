"""Why a run of a deployment got no session, in the words of the API. Pure."""

from everyagent.errors import BadRequest, EveryagentError, NotFound, RateLimited
from everyagent.managed.deployments.shape import RunError

#: The prefix of an id, and the error for one that does not exist.
_MISSING = {
    "env_": "environment_not_found_error",
    "vlt_": "vault_not_found_error",
    "file_": "file_not_found_error",
    "skill_": "skill_not_found_error",
}
_ARCHIVED = ("environment", "agent", "vault", "memory_store")
#: Errors after which the same run may succeed.
_PASSING = ("session_rate_limited_error", "session_creation_rejected_error", "unknown_error")


def run_error(error: EveryagentError) -> RunError:
    return RunError(type=_type(error), message=error.detail)


def pauses(error: RunError) -> bool:
    """Whether a schedule is paused after this error."""
    return error.type not in _PASSING


def _type(error: EveryagentError) -> str:
    code = str(error.facts.get("error_code", ""))
    if code.removesuffix("_archived") in _ARCHIVED:
        return f"{code}_error"
    match error:
        case NotFound():
            found = (kind for prefix, kind in _MISSING.items() if prefix in error.detail)
            return next(found, "session_resource_not_found_error")
        case RateLimited():
            return "session_rate_limited_error"
        case BadRequest():
            return "session_creation_rejected_error"
        case _:
            return "unknown_error"
