"""Exceptions of the client.

ClientError
├── ApiError        the daemon refused the request; carries its error
├── Unreachable     the daemon does not answer, or the connection was lost for too long
└── AskPending      the turn waits for an answer to an ask, and no `answer` function was given
"""

import msgspec

from everyagent.model.events import PermissionRequested, QuestionRequested, ToolRequested
from everyagent.model.parts import Json


class ClientError(Exception):
    pass


class ApiError(ClientError):
    """`code` is stable, for programs; `detail` is a sentence, for people; `problem` is the whole response body."""

    def __init__(self, status: int, code: str, detail: str, problem: dict[str, Json]) -> None:
        super().__init__(detail)
        self.status = status
        self.code = code
        self.detail = detail
        self.problem = problem


class Unreachable(ClientError):
    def __init__(self, url: str, reason: str) -> None:
        super().__init__(f"The daemon at {url} does not answer ({reason}). Start it with `everyagent serve`.")
        self.url = url


class AskPending(ClientError):
    """The turn continues as soon as the ask is answered, by any client."""

    def __init__(self, session_id: str, ask_id: str, ask: PermissionRequested | QuestionRequested | ToolRequested):
        super().__init__(
            f"Session {session_id} waits for an answer to {ask_id}. Pass `answer=` to answer asks as they come, "
            f"or call `answer({session_id!r}, {ask_id!r}, ...)`."
        )
        self.session_id = session_id
        self.ask_id = ask_id
        self.ask = ask


class _Problem(msgspec.Struct, kw_only=True):
    code: str | None = None
    detail: str | None = None
    title: str | None = None


def api_error(status: int, body: bytes) -> ApiError:
    """The error in a response, also if a proxy sent it and it is not problem+json."""
    try:
        problem = msgspec.json.decode(body, type=dict[str, Json])
        known = msgspec.convert(problem, _Problem)
    except msgspec.MsgspecError:
        text = body[:500].decode(errors="replace").strip()
        return ApiError(status, "unknown", text or f"The server answered with status {status}.", {})
    detail = known.detail or known.title or f"The server answered with status {status}."
    return ApiError(status, known.code or "unknown", detail, problem)
