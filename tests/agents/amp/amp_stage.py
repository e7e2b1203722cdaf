"""Sessions of the real Amp behind a real daemon, with a scripted server on loopback."""

from pathlib import Path

import msgspec
from tests.agents.stage import Stage, tested_binary
from tests.scripted.amp_server import AmpServer
from tests.scripted.amp_thread import AmpThread

from everyagent.agents.amp import program
from everyagent.model.parts import FileRefPart, ToolResultPart

KEY = "sgamp_user_not_a_key"


def amp_binary() -> str:
    return tested_binary("amp", program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)


def environment(home: Path, model: AmpServer) -> dict[str, str]:
    """The environment of a session with this home and a scripted server."""
    return {"HOME": str(home), "TMPDIR": str(home), "AMP_URL": model.url, "AMP_API_KEY": KEY}


class AmpSession(Stage[AmpServer]):
    agent = "amp"

    def environment(self) -> dict[str, str]:
        return environment(self.home, self.model)

    @property
    def thread(self) -> AmpThread:
        """Amp's thread of the session."""
        return self.thread_of(str(self.info()["nativeSessionId"]))

    def thread_of(self, native: str) -> AmpThread:
        return self.model.threads[native]

    def agents(self) -> list[int]:
        """Process ids of the session's agent."""
        return self.processes("--stream-json-input")

    def outputs(self) -> list[str]:
        parts = [part for item in self.items("tool_result") for part in item.content]
        return [part.output for part in parts if isinstance(part, ToolResultPart)]

    def files(self) -> list[FileRefPart]:
        parts = [part for item in self.items("tool_result") for part in item.content]
        return [part for part in parts if isinstance(part, FileRefPart)]

    def thread_text(self) -> str:
        """The text of all messages in the thread, and the results of its sub-agents' calls."""
        said = [message.content for message in self.thread.messages]
        return msgspec.json.encode([said, self.thread.subagent_results]).decode()
