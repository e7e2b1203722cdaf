"""Why a request of ours came to nothing. Raised and told apart by `driver.py`."""

from everyagent.agents.codex.protocol.wire import RpcError
from everyagent.errors import AgentFailed


class Gone(AgentFailed):
    """The app-server ended, which is told to the session by its death."""

    def __init__(self) -> None:
        super().__init__("Codex's app-server is gone.")


class NotRunning(AgentFailed):
    """There is no turn to do it to."""


class Refused(AgentFailed):
    """Codex's own words for why it does not do it."""

    def __init__(self, method: str, error: RpcError) -> None:
        super().__init__(f"Codex refused {method}: {error.message}")
        self.held_elsewhere = "already has an active writer" in error.message
        self.gone = any(words in error.message for words in ("no rollout found", "not found", "no thread"))
