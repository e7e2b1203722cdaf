"""All errors of the API, in one tree. Each has a stable code and an HTTP status.

EveryagentError 500           a fault of the daemon
├── BadRequest 400            the request is invalid; repeating it does not help
│   ├── UnknownAgent          there is no such agent
│   ├── UnsupportedChoice     the agent has no such mode, model, variant or capability
│   ├── NoRepository          the directory is not in a git repository that can be used
│   └── OffsetOutOfRange      the position is outside the session's log
├── Unauthorized 401          the token is missing or wrong
│   ├── SignatureInvalid      the request's signature is missing, wrong or too old
│   └── RunnerKeyInvalid      the runner's key is unknown or revoked
├── BudgetExceeded 402        the API key or the session has used up its budget
├── Forbidden 403             the Host, Origin or path is not allowed
│   └── ScopeMissing          the API key does not have the scope
├── NotFound 404              there is no such file or route
│   ├── SessionNotFound
│   ├── AskNotFound
│   ├── RecordNotFound
│   └── AgentNotInstalled     the agent is known, but not installed on this machine
├── MethodNotAllowed 405
├── Conflict 409              the request contradicts the current state
│   ├── SessionExists
│   ├── SessionHasEnded
│   ├── SessionBusy           a turn runs
│   ├── TooManySessions       the limit on open sessions is reached
│   ├── AskClosed             the ask was answered before; the error has the first answer
│   ├── KeyReused             the Idempotency-Key was used for another request
│   ├── RecordExists          the id or the unique name is taken
│   ├── RecordChanged         the record was changed since it was read
│   ├── MergeConflict         files were changed on both sides; nothing was merged
│   ├── FilesChanged          files of a person would be overwritten; nothing was changed
│   ├── WorkNotMerged         the session's work would be lost; nothing was changed
│   ├── MemoryChanged         the memory's content is not the expected one
│   ├── MemoryPathTaken       another memory is at, above or below that path
│   └── LogConflict           another writer appended to the session's log
│       └── LogFenced         another daemon owns the session now
├── RequestTimeout 408        the client took too long to send the request
├── PreconditionFailed 412
├── TooLarge 413
├── UrlTooLong 414
├── UnsupportedMedia 415
├── RateLimited 429           too many requests of a key, or too many wrong tokens
│   └── QueueFull             the limit on waiting messages of a session is reached
├── HeadersTooLarge 431
├── GitFailed 500             git is missing, too old, or failed
├── VaultError 500            a secret cannot be encrypted or decrypted
├── LogDamaged 500            a stored event or frame is not what was written; the rest of the log can be read
├── AgentFailed 502           the agent did not start, or died
│   └── AgentNotLoggedIn      the agent has neither an API key nor a login
├── Unavailable 503           the daemon is shutting down or overloaded
│   ├── TooManyConnections    the limit on connections is reached
│   ├── TooManyRequests       the limit on requests at a time is reached
│   ├── TooManyAgents         the limit on running agents is reached
│   ├── CommitFailed          the log could not write: disk error, or database locked
│   ├── StoreUnavailable      the database cannot be reached or used; nothing was written
│   │   └── BlobsUnavailable  the store for blobs cannot be reached or used
│   └── OwnedElsewhere        another node of the cluster owns the session; nothing was changed
└── StorageFull 507           nothing was written; works again when the disk has space
"""

from typing import ClassVar


class EveryagentError(Exception):
    """`detail` is a sentence for people; `facts` are fields for programs (JSON values, camelCase keys).

    A subclass inherits the `code` and `status` that it does not give. The title defaults to the code in words.
    """

    code: ClassVar[str] = "internal"
    status: ClassVar[int] = 500
    title: ClassVar[str] = "Internal Error"

    def __init_subclass__(cls, *, code: str | None = None, status: int | None = None, title: str | None = None) -> None:
        if code is not None:
            cls.code, cls.title = code, title or code.replace("_", " ").title()
        if status is not None:
            cls.status = status

    def __init__(self, detail: str, **facts: object) -> None:
        super().__init__(detail)
        self.detail = detail
        self.facts = facts


class BadRequest(EveryagentError, code="invalid_request", status=400): ...


class UnknownAgent(BadRequest, code="unsupported_agent"): ...


class UnsupportedChoice(BadRequest, code="not_supported"): ...


class NoRepository(BadRequest, code="not_a_git_repository"): ...


class OffsetOutOfRange(BadRequest, code="offset_out_of_range"): ...


class Unauthorized(EveryagentError, code="token_invalid", status=401): ...


class SignatureInvalid(Unauthorized, code="signature_invalid"): ...


class RunnerKeyInvalid(Unauthorized, code="runner_key_invalid"): ...


class BudgetExceeded(EveryagentError, code="budget_exceeded", status=402): ...


class Forbidden(EveryagentError, code="forbidden", status=403): ...


class ScopeMissing(Forbidden, code="scope_missing"): ...


class NotFound(EveryagentError, code="not_found", status=404): ...


class SessionNotFound(NotFound, code="session_not_found"): ...


class AskNotFound(NotFound, code="ask_not_found"): ...


class MessageNotQueued(NotFound, code="message_not_queued"): ...


class RecordNotFound(NotFound, code="record_not_found"): ...


class AgentNotInstalled(NotFound, code="agent_not_installed"): ...


class MethodNotAllowed(EveryagentError, code="method_not_allowed", status=405): ...


class Conflict(EveryagentError, code="conflict", status=409): ...


class SessionExists(Conflict, code="session_already_exists"): ...


class SessionHasEnded(Conflict, code="session_ended"): ...


class SessionBusy(Conflict, code="session_busy"): ...


class MergeConflict(Conflict, code="merge_conflict"): ...


class FilesChanged(Conflict, code="files_changed"): ...


class WorkNotMerged(Conflict, code="work_not_merged"): ...


class TooManySessions(Conflict, code="too_many_sessions"): ...


class AskClosed(Conflict, code="ask_closed", title="Ask Already Answered"): ...


class KeyReused(Conflict, code="idempotency_key_reused"): ...


class RecordExists(Conflict, code="record_exists", title="Already Exists"): ...


class RecordChanged(Conflict, code="record_changed", title="Changed Meanwhile"): ...


class MemoryChanged(Conflict, code="memory_precondition_failed", title="Memory Changed"): ...


class MemoryPathTaken(Conflict, code="memory_path_conflict", title="Memory Path Taken"): ...


class LogConflict(Conflict, code="log_conflict"):
    """`head` is the log's real last sequence."""

    def __init__(self, detail: str, head: int) -> None:
        super().__init__(detail, head=head)
        self.head = head


class LogFenced(LogConflict, code="log_fenced", title="Session Taken Over"): ...


class RequestTimeout(EveryagentError, code="request_timeout", status=408): ...


class PreconditionFailed(EveryagentError, code="precondition_failed", status=412): ...


class TooLarge(EveryagentError, code="too_large", status=413): ...


class UrlTooLong(EveryagentError, code="url_too_long", status=414): ...


class UnsupportedMedia(EveryagentError, code="unsupported_media_type", status=415): ...


class RateLimited(EveryagentError, code="rate_limited", status=429): ...


class QueueFull(RateLimited, code="queue_full"): ...


class HeadersTooLarge(EveryagentError, code="headers_too_large", status=431): ...


class GitFailed(EveryagentError, code="git_failed"): ...


class VaultError(EveryagentError, code="vault", title="Secrets Unavailable"): ...


class LogDamaged(EveryagentError, code="log_damaged"):
    """`sequence` is that of the damaged event; 0 if a frame is damaged."""

    def __init__(self, detail: str, sequence: int = 0, **facts: object) -> None:
        super().__init__(detail, **facts, **({"sequence": sequence} if sequence else {}))
        self.sequence = sequence


class AgentFailed(EveryagentError, code="agent_failed", status=502): ...


class AgentNotLoggedIn(AgentFailed, code="agent_not_logged_in"): ...


class Unavailable(EveryagentError, code="unavailable", status=503): ...


class TooManyConnections(Unavailable, code="too_many_connections"): ...


class TooManyRequests(Unavailable, code="too_many_requests"): ...


class TooManyAgents(Unavailable, code="too_many_agents"): ...


class CommitFailed(Unavailable):
    """The log could not commit a write; later writes may succeed. Read the log to see what it contains."""


class StoreUnavailable(Unavailable):
    """Nothing was written."""


class BlobsUnavailable(StoreUnavailable): ...


class BusUnavailable(Unavailable):
    """The NATS servers, over which nodes announce commits, cannot be used."""


class OwnedElsewhere(Unavailable, code="owned_elsewhere"): ...


class StorageFull(EveryagentError, code="storage_full", status=507): ...
