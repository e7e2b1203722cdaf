"""Sessions of the real Claude Code behind a real daemon, with a scripted model on loopback."""

from pathlib import Path

from tests.agents.stage import Stage, tested_binary
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import program


def claude_binary() -> str:
    return tested_binary("claude", program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)


def environment(home: Path, model: MessagesServer) -> dict[str, str]:
    """The environment of a session with this home and a scripted model."""
    return {
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": model.url,
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_TMPDIR": str(home),
        "CLAUDE_CODE_MAX_RETRIES": "2",
    }


class ClaudeSession(Stage[MessagesServer]):
    agent = "claude"

    def environment(self) -> dict[str, str]:
        return environment(self.home, self.model)

    def agents(self) -> list[int]:
        """Process ids of the session's agent."""
        return self.processes("stream-json")
