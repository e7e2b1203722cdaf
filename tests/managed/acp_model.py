"""The scripted model of the agents that speak the Agent Client Protocol."""

from pathlib import Path

import msgspec

from everyagent.testing.daemon import DaemonProcess
from tests.agents.acp.acp_stage import AcpSession
from tests.managed.real_model import CITY, LONG, SUM, RealModel
from tests.scripted import chat_replies
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer


class AcpModel(RealModel):
    model = "fake-model"

    def __init__(self, agent: str, server: ChatServer | GeminiServer, daemon: DaemonProcess, folder: Path) -> None:
        self._session = AcpSession(agent, daemon, server, folder)
        self._script = server.script
        self.environment = self._session.environment()

    def say(self, text: str, *, when: str = "", thought: str = "") -> None:
        said = chat_replies.think(thought, text, when=when) if thought else chat_replies.say(text, when=when)
        self._script.add(said)

    def run(self, command: str, *, when: str = "") -> None:
        self._script.add(chat_replies.call(*self._session.shell(command), when=when))

    def read(self, path: str, *, when: str = "") -> None:
        self.run(f"cat {path}", when=when)

    def get_weather(self, *, when: str = "") -> None:
        self._script.add(chat_replies.call(self._session.tool("everyagent", "get_weather"), {**CITY}, when=when))

    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        weather = self._session.tool("everyagent", "get_weather")
        calls = [
            self._session.shell(step.removeprefix("$ ")) if step.startswith("$ ") else (weather, {"city": step})
            for step in steps
        ]
        self._script.add(chat_replies.calls(*calls, when=when, text=text))

    def add(self, *, when: str = "") -> None:
        self._script.add(chat_replies.call(self._session.tool("sums", "add"), {**SUM}, when=when))

    def last_input(self) -> str:
        return msgspec.json.encode(self._script.requests[-1].messages).decode()

    def instructions(self) -> str:
        return ""

    def hold(self, *, when: str) -> None:
        self._script.add(chat_replies.say(LONG, when=when, held=2))

    def fail(self, *, when: str) -> None:
        self._script.add(chat_replies.fail(400, "invalid_request_error", when=when))
