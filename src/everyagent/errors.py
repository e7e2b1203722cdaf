"""Every error a caller can meet, in one tree; each has a stable code and says what to do next.

EveryagentError
├── BadRequest 400            the request is wrong; sending it again changes nothing
│   ├── UnknownAgent          no such agent
│   ├── UnsupportedChoice     the agent has no such mode, model, variant or ability
│   └── OffsetOutOfRange      a position outside the session's log
├── Unauthorized 401          no token, or the wrong one
├── Forbidden 403             a Host, Origin or path we do not serve
├── NotFound 404              no such session, ask, record, file or route
│   └── AgentNotInstalled     a known agent that is not on this machine
├── MethodNotAllowed 405
├── Conflict 409              true a moment ago, or for somebody else
│   ├── SessionExists
│   ├── SessionHasEnded
│   ├── AskClosed             answered before; says what the first answer was
│   ├── KeyReused             an Idempotency-Key that came with another request
│   ├── RecordExists          its id or its unique name is taken
│   ├── RecordChanged         somebody else changed it since it was read
│   ├── MemoryChanged         its content is not what the request says it must be
│   ├── MemoryPathTaken       another memory lies at, above or below that path
│   └── LogConflict           somebody else wrote to the session's log
│       └── LogFenced         a newer owner has taken the session over
├── TooLarge 413
├── UnsupportedMedia 415
├── AgentFailed 502           the agent did not start, or died
│   └── AgentNotLoggedIn      it has no key and no account
├── VaultError 500            a stored secret does not open
├── Unavailable 503           shutting down, or too busy
│   └── CommitFailed          the log could not write it: disk error, or database locked
└── StorageFull 507           nothing was written; goes on by itself when there is room
"""

from typing import ClassVar


class EveryagentError(Exception):
    """`detail` is a sentence for a person; `facts` are fields for a program (JSON values, camelCase keys)."""

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Error"

    def __init__(self, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts = facts


class BadRequest(EveryagentError):
    code, status, title = "invalid_request", 400, "Invalid Request"


class UnknownAgent(BadRequest):
    code, title = "unsupported_agent", "Unsupported Agent"


class UnsupportedChoice(BadRequest):
    code, title = "not_supported", "Not Supported"


class OffsetOutOfRange(BadRequest):
    code, title = "offset_out_of_range", "Offset Out Of Range"


class Unauthorized(EveryagentError):
    code, status, title = "token_invalid", 401, "Token Invalid"


class Forbidden(EveryagentError):
    code, status, title = "forbidden", 403, "Forbidden"


class NotFound(EveryagentError):
    code, status, title = "not_found", 404, "Not Found"


class SessionNotFound(NotFound):
    code, title = "session_not_found", "Session Not Found"


class AskNotFound(NotFound):
    code, title = "ask_not_found", "Ask Not Found"


class RecordNotFound(NotFound):
    code, title = "record_not_found", "Record Not Found"


class AgentNotInstalled(NotFound):
    code, title = "agent_not_installed", "Agent Not Installed"


class MethodNotAllowed(EveryagentError):
    code, status, title = "method_not_allowed", 405, "Method Not Allowed"


class PreconditionFailed(EveryagentError):
    code, status, title = "precondition_failed", 412, "Precondition Failed"


class Conflict(EveryagentError):
    code, status, title = "conflict", 409, "Conflict"


class SessionExists(Conflict):
    code, title = "session_already_exists", "Session Already Exists"


class SessionHasEnded(Conflict):
    code, title = "session_ended", "Session Ended"


class AskClosed(Conflict):
    code, title = "ask_closed", "Ask Already Answered"


class KeyReused(Conflict):
    code, title = "idempotency_key_reused", "Idempotency Key Reused"


class RecordExists(Conflict):
    code, title = "record_exists", "Already Exists"


class RecordChanged(Conflict):
    code, title = "record_changed", "Changed Meanwhile"


class MemoryChanged(Conflict):
    code, title = "memory_precondition_failed", "Memory Changed"


class MemoryPathTaken(Conflict):
    code, title = "memory_path_conflict", "Memory Path Taken"


class LogConflict(Conflict):
    """`head` is the log's real last sequence."""

    code, title = "log_conflict", "Log Conflict"

    def __init__(self, detail: str, head: int) -> None:
        super().__init__(detail, head=head)
        self.head = head


class LogFenced(LogConflict):
    code, title = "log_fenced", "Session Taken Over"


class TooLarge(EveryagentError):
    code, status, title = "too_large", 413, "Too Large"


class UnsupportedMedia(EveryagentError):
    code, status, title = "unsupported_media_type", 415, "Unsupported Media Type"


class AgentFailed(EveryagentError):
    code, status, title = "agent_failed", 502, "Agent Failed"


class AgentNotLoggedIn(AgentFailed):
    code, title = "agent_not_logged_in", "Agent Not Logged In"


class VaultError(EveryagentError):
    """A secret that cannot be sealed or unsealed."""

    code, title = "vault", "Secrets Unavailable"


class Unavailable(EveryagentError):
    code, status, title = "unavailable", 503, "Unavailable"


class CommitFailed(Unavailable):
    """The log could not commit a write, and its writer goes on. Read the log to see what is in it."""


class StorageFull(EveryagentError):
    code, status, title = "storage_full", 507, "Storage Full"
