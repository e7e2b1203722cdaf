"""The real Amp behind a real daemon, talking to a scripted server of its own: no key, no traffic but on loopback."""

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
    """Of a session whose home is `home` and whose server is scripted."""
    return {"HOME": str(home), "TMPDIR": str(home), "AMP_URL": model.url, "AMP_API_KEY": KEY}


class AmpSession(Stage[AmpServer]):
    agent = "amp"

    def environment(self) -> dict[str, str]:
        return environment(self.home, self.model)

    @property
    def thread(self) -> AmpThread:
        """Amp's own memory of the session."""
        return self.thread_of(str(self.info()["nativeSessionId"]))

    def thread_of(self, native: str) -> AmpThread:
        return self.model.threads[native]

    def agents(self) -> list[int]:
        """Its processes."""
        return self.processes("--stream-json-input")

    def outputs(self) -> list[str]:
        parts = [part for item in self.items("tool_result") for part in item.content]
        return [part.output for part in parts if isinstance(part, ToolResultPart)]

    def files(self) -> list[FileRefPart]:
        parts = [part for item in self.items("tool_result") for part in item.content]
        return [part for part in parts if isinstance(part, FileRefPart)]

    def told_amp(self) -> str:
        """All that was said in its thread, by anyone, and what came of its sub-agents' calls."""
        said = [message.content for message in self.thread.messages]
        return msgspec.json.encode([said, self.thread.subagent_results]).decode()
