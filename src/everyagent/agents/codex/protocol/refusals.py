"""Exceptions of requests to the app-server that failed."""

from everyagent.agents.codex.protocol import wire
from everyagent.errors import AgentFailed


class Gone(AgentFailed):
    """The app-server ended; the session gets that as the agent's death."""

    def __init__(self) -> None:
        super().__init__("Codex's app-server is gone.")


class NotRunning(AgentFailed):
    """No turn is running."""


class CodexRefused(AgentFailed):
    """Codex answered with an error."""

    def __init__(self, method: str, error: object) -> None:
        words = wire.error_message(error)
        super().__init__(f"Codex refused {method}: {words}")
        self.held_elsewhere = "already has an active writer" in words
        self.gone = any(each in words for each in ("no rollout found", "not found", "no thread"))
