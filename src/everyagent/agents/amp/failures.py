"""Maps Amp's error messages to the error codes that all agents share. Pure."""

from everyagent.model.events import Error, ErrorCode

#: Parts of Amp's messages, in the order in which they are looked for.
_BY_WORDS: tuple[tuple[str, ErrorCode], ...] = (
    ("model provider overloaded", "overloaded"),
    ("context limit reached", "context_exceeded"),
    ("context window", "context_exceeded"),
    ("too large to send", "context_exceeded"),
    ("rate limit", "rate_limited"),
    ("usage quota", "rate_limited"),
    ("no usage available", "rate_limited"),
    ("invalid or missing api key", "auth"),
    ("no api key", "auth"),
    ("unauthorized", "auth"),
    ("out of credits", "auth"),
    ("low credit balance", "auth"),
    ("model not found", "model_not_found"),
    ("agent mode disabled", "model_not_found"),
    ("timed out", "timeout"),
    ("network error", "network"),
    ("couldn't connect to the amp server", "network"),
    ("unable to connect to amp servers", "network"),
)
CANCELLED = "User cancelled"
#: Messages for a thread that cannot be continued: it is gone, or archived.
_LOST = ("is archived and cannot be continued", "does not exist.")
REMEDY = (
    "Run `everyagent agents login amp` as the user the daemon runs as, or give the session or the daemon "
    "an AMP_API_KEY."
)
NO_LOGIN = f"Amp is not logged in. {REMEDY}"


def code_of(words: str) -> ErrorCode | None:
    lower = words.lower()
    return next((code for part, code in _BY_WORDS if part in lower), None)


def error_of(words: str) -> Error:
    code = code_of(words) or "internal"
    return Error(message=remedied(words) if code == "auth" else words, code=code)


def remedied(words: str) -> str:
    return f"{words.rstrip('. ')}. {REMEDY}"


def history_lost(words: str) -> bool:
    return any(part in words for part in _LOST)
