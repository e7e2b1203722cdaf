"""The interface of all scripted models of real agents (`real_models.py`)."""

from abc import ABC, abstractmethod
from typing import ClassVar

CITY = {"city": "Oslo"}
SUM = {"a": 2, "b": 3}
LONG = "word " * 400
OPTIONS = [{"label": "Red", "description": "Warm"}, {"label": "Green", "description": "Calm"}]
#: The prompt and the answer of a sub-agent.
ERRAND, FOUND = "Count them for me", "There are three."


class RealModel(ABC):
    """Each method adds a reply for a request that contains `when`. Replies are used in the order of addition.

    `helpers` is the model that can start sub-agents, if the agent reports them; `helpers_retry` is whether it reports
    which of them retries a request.
    """

    agent: ClassVar[str]
    model: ClassVar[str]
    helpers: ClassVar[str | None] = None
    helpers_retry: ClassVar[bool] = False
    environment: dict[str, str]

    @abstractmethod
    def say(self, text: str, *, when: str = "", thought: str = "") -> None: ...

    @abstractmethod
    def run(self, command: str, *, when: str = "") -> None: ...

    @abstractmethod
    def read(self, path: str, *, when: str = "") -> None:
        """Read a file with the agent's own tool; Codex has none but its shell."""

    def fetch(self, url: str, *, when: str) -> bool:
        """Get a web page with the agent's own tool. False if the agent has none."""
        return False

    @abstractmethod
    def get_weather(self, *, when: str = "") -> None:
        """Call the custom tool for `CITY`."""

    @abstractmethod
    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        """Make several calls in one message: of the custom tool for a city, or of a command, which begins with `$ `."""

    @abstractmethod
    def add(self, *, when: str = "") -> None:
        """Call the tool `add` of the MCP server `sums` for `SUM`."""

    @abstractmethod
    def last_input(self) -> str:
        """The last request to the model."""

    @abstractmethod
    def instructions(self) -> str:
        """The privileged part of the last request."""

    @abstractmethod
    def hold(self, *, when: str) -> None:
        """Reply with text that does not end."""

    @abstractmethod
    def fail(self, *, when: str) -> None:
        """Fail the request and its retries."""

    def fail_once(self) -> bool:
        """Fail once, so that the agent reports a retry. False if the agent reports none."""
        return False

    def delegate(self, *, when: str) -> None:  # noqa: B027
        """Start a sub-agent and repeat its answer, if the agent has sub-agents."""

    def wait_for_helper(self, command: str, *, when: str) -> None:  # noqa: B027
        """Start a sub-agent that runs a command and wait for it, if the agent has sub-agents."""

    def ask(self, *, when: str) -> bool:
        """Ask the user for a colour. False if the agent has no questions."""
        return False

    def compact(self) -> bool:
        """Reply with a summary for a compaction. False if compaction cannot be requested."""
        return False
