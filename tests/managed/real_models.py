"""Scripted models of the real agents, with one interface for all of them."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from everyagent.model.parts import Json
from everyagent.testing.daemon import DaemonProcess
from tests.agents.amp.amp_stage import AmpSession
from tests.agents.claude.claude_stage import ClaudeSession
from tests.agents.codex.codex_stage import CodexSession
from tests.agents.opencode.opencode_stage import MODEL as OPENCODE_MODEL
from tests.agents.opencode.opencode_stage import OpencodeSession
from tests.managed.acp_model import AcpModel
from tests.managed.real_model import CITY, ERRAND, FOUND, LONG, OPTIONS, SUM, RealModel
from tests.scripted import amp_replies, chat_replies, messages_replies, responses_replies
from tests.scripted.amp_server import AmpServer
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer
from tests.scripted.messages_server import MessagesServer
from tests.scripted.responses_server import ResponsesServer


class ClaudeModel(RealModel):
    agent, model, helpers = "claude", "claude-sonnet-4-6", "claude-sonnet-4-6"

    def __init__(self, server: MessagesServer, daemon: DaemonProcess, folder: Path) -> None:
        self._script = server.script
        self.environment = ClaudeSession(daemon, server, folder).environment()

    def say(self, text: str, *, when: str = "", thought: str = "") -> None:
        said = messages_replies.think(thought, text, when=when) if thought else messages_replies.say(text, when=when)
        self._script.add(said)

    def run(self, command: str, *, when: str = "") -> None:
        self._script.add(messages_replies.call("Bash", {"command": command}, when=when))

    def read(self, path: str, *, when: str = "") -> None:
        self._script.add(messages_replies.call("Read", {"file_path": path}, when=when))

    def fetch(self, url: str, *, when: str) -> bool:
        self._script.add(messages_replies.call("WebFetch", {"url": url, "prompt": "What does it say?"}, when=when))
        return True

    def get_weather(self, *, when: str = "") -> None:
        self._script.add(messages_replies.call("mcp__everyagent__get_weather", CITY, when=when))

    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        calls = [_step(step, "mcp__everyagent__get_weather", "Bash") for step in steps]
        self._script.add(messages_replies.calls(*calls, when=when, text=text))

    def add(self, *, when: str = "") -> None:
        self._script.add(messages_replies.call("mcp__sums__add", SUM, when=when))

    def last_input(self) -> str:
        last = self._script.requests[-1]
        return msgspec.json.encode([last.system, last.messages]).decode()

    def instructions(self) -> str:
        return msgspec.json.encode(self._script.requests[-1].system).decode()

    def hold(self, *, when: str) -> None:
        self._script.add(messages_replies.say(LONG, when=when, held=2))

    def fail(self, *, when: str) -> None:
        failure = messages_replies.fail(401, "authentication_error", "invalid x-api-key", times=9)
        failure.when = when
        self._script.add(failure)

    def fail_once(self) -> bool:
        self._script.add(messages_replies.fail(529, "overloaded_error"))
        return True

    def delegate(self, *, when: str) -> None:
        task = {"description": "Count", "prompt": ERRAND, "subagent_type": "Explore", "run_in_background": False}
        self._script.add(messages_replies.call("Agent", task, when=when), messages_replies.say(FOUND, when=ERRAND))
        self.say("The helper says three.", when=FOUND)

    def wait_for_helper(self, command: str, *, when: str) -> None:
        task = {"description": "Count", "prompt": ERRAND, "subagent_type": "general-purpose"}
        self._script.add(
            messages_replies.call("Agent", {**task, "run_in_background": False}, when=when),
            messages_replies.call("Bash", {"command": command}, when=ERRAND),
        )

    def ask(self, *, when: str) -> bool:
        question = {"question": "Which colour?", "header": "Colour", "options": OPTIONS, "multiSelect": False}
        self._script.add(messages_replies.call("AskUserQuestion", {"questions": [question]}, when=when))
        return True

    def compact(self) -> bool:
        self.say("<analysis>a</analysis><summary>They counted.</summary>", when="TEXT ONLY")
        return True


class CodexModel(RealModel):
    agent, model, helpers, helpers_retry = "codex", "gpt-5.5", "gpt-6.1-sol", True

    def __init__(self, server: ResponsesServer, daemon: DaemonProcess, folder: Path) -> None:
        self._script = server.script
        self.environment = CodexSession(daemon, server, folder).environment()

    def say(self, text: str, *, when: str = "", thought: str = "") -> None:
        said = responses_replies
        self._script.add(said.think(thought, text, when=when) if thought else said.say(text, when=when))

    def run(self, command: str, *, when: str = "") -> None:
        self._script.add(responses_replies.run(command, when=when))

    def read(self, path: str, *, when: str = "") -> None:
        self._script.add(responses_replies.run(f"cat {path}", when=when))

    def get_weather(self, *, when: str = "") -> None:
        self._script.add(responses_replies.call("get_weather", {**CITY}, namespace="mcp__everyagent", when=when))

    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        said = responses_replies
        replies = [said.say(text)] if text else []
        for step in steps:
            command = step.removeprefix("$ ")
            weather = said.call("get_weather", {"city": step}, namespace="mcp__everyagent")
            replies.append(weather if command == step else said.run(command))
        self._script.add(said.joined(*replies, when=when))

    def add(self, *, when: str = "") -> None:
        self._script.add(responses_replies.call("add", {**SUM}, namespace="mcp__sums", when=when))

    def last_input(self) -> str:
        return msgspec.json.encode(self._script.requests[-1].input).decode()

    def instructions(self) -> str:
        last = self._script.requests[-1]
        return msgspec.json.encode([item for item in last.input if item.role == "developer"]).decode()

    def hold(self, *, when: str) -> None:
        self._script.add(responses_replies.say(LONG, when=when, held=2))

    def fail(self, *, when: str) -> None:
        failure = responses_replies.fail(400, "invalid_request_error")
        failure.when = when
        self._script.add(failure)

    def fail_once(self) -> bool:
        self._script.add(responses_replies.fail(429, "rate_limit_exceeded", headers={"retry-after": "1"}))
        return True

    def delegate(self, *, when: str) -> None:
        space, said = "collaboration", responses_replies
        failure = said.fail(429, "rate_limit_exceeded", headers={"retry-after": "1"})
        failure.when = "NEW_TASK"
        self._script.add(
            failure,
            said.call("spawn_agent", {"task_name": "helper", "message": ERRAND}, namespace=space, when=when),
            said.say(FOUND, when="NEW_TASK"),
            said.call("wait_agent", {"timeout_ms": 10_000}, namespace=space, when="/root/helper"),
            said.say("The helper says three.", when="FINAL_ANSWER"),
        )

    def wait_for_helper(self, command: str, *, when: str) -> None:
        space, said = "collaboration", responses_replies
        self._script.add(
            said.call("spawn_agent", {"task_name": "helper", "message": ERRAND}, namespace=space, when=when),
            said.run(command, when="NEW_TASK"),
            said.call("wait_agent", {"timeout_ms": 3_600_000}, namespace=space, when="/root/helper"),
        )

    def ask(self, *, when: str) -> bool:
        question = {"id": "colour", "question": "Which colour?", "header": "Colour", "options": [*OPTIONS]}
        self._script.add(responses_replies.call("request_user_input", {"questions": [question]}, when=when))
        return True

    def compact(self) -> bool:
        self.say("They counted.")
        return True


class OpencodeModel(RealModel):
    agent, model, helpers, helpers_retry = "opencode", OPENCODE_MODEL, OPENCODE_MODEL, True

    def __init__(self, server: ChatServer, daemon: DaemonProcess, folder: Path) -> None:
        self._script = server.script
        self.environment = OpencodeSession(daemon, server, folder).environment()

    def say(self, text: str, *, when: str = "", thought: str = "") -> None:
        said = chat_replies.think(thought, text, when=when) if thought else chat_replies.say(text, when=when)
        self._script.add(said)

    def run(self, command: str, *, when: str = "") -> None:
        self._script.add(chat_replies.run(command, when=when))

    def read(self, path: str, *, when: str = "") -> None:
        self._script.add(chat_replies.call("read", {"filePath": path}, when=when))

    def fetch(self, url: str, *, when: str) -> bool:
        self._script.add(chat_replies.call("webfetch", {"url": url, "format": "text"}, when=when))
        return True

    def get_weather(self, *, when: str = "") -> None:
        self._script.add(chat_replies.call("everyagent_get_weather", {**CITY}, when=when))

    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        calls = [_step(step, "everyagent_get_weather", "bash") for step in steps]
        self._script.add(chat_replies.calls(*calls, when=when, text=text))

    def add(self, *, when: str = "") -> None:
        self._script.add(chat_replies.call("sums_add", {**SUM}, when=when))

    def last_input(self) -> str:
        return msgspec.json.encode(self._script.requests[-1].messages).decode()

    def instructions(self) -> str:
        last = self._script.requests[-1]
        return msgspec.json.encode([each for each in last.messages if each.role == "system"]).decode()

    def hold(self, *, when: str) -> None:
        self._script.add(chat_replies.say(LONG, when=when, held=2))

    def fail(self, *, when: str) -> None:
        self._script.add(chat_replies.fail(400, "invalid_request_error", when=when))

    def fail_once(self) -> bool:
        self._script.add(chat_replies.fail(500, "server_error", headers={"retry-after-ms": "20"}))
        return True

    def delegate(self, *, when: str) -> None:
        task = {"description": "Count", "prompt": ERRAND, "subagent_type": "general"}
        self._script.add(
            chat_replies.call("task", {**task}, when=when),
            chat_replies.fail(500, "server_error", when=ERRAND, headers={"retry-after-ms": "20"}),
            chat_replies.say(FOUND, when=ERRAND),
            chat_replies.say("The helper says three.", when=FOUND),
        )

    def wait_for_helper(self, command: str, *, when: str) -> None:
        task = {"description": "Count", "prompt": ERRAND, "subagent_type": "general"}
        self._script.add(chat_replies.call("task", {**task}, when=when), chat_replies.run(command, when=ERRAND))

    def ask(self, *, when: str) -> bool:
        question = {"question": "Which colour?", "header": "Colour", "options": [*OPTIONS]}
        self._script.add(chat_replies.call("question", {"questions": [question]}, when=when))
        return True

    def compact(self) -> bool:
        """The server itself answers requests without tools: titles and summaries."""
        return True


class AmpModel(RealModel):
    agent, model = "amp", "amp"

    def __init__(self, server: AmpServer, daemon: DaemonProcess, folder: Path) -> None:
        self._server = server
        self._script = server.script
        self.environment = AmpSession(daemon, server, folder).environment()

    def say(self, text: str, *, when: str = "", thought: str = "") -> None:
        said = amp_replies.think(thought, text, when=when) if thought else amp_replies.say(text, when=when)
        self._script.add(said)

    def run(self, command: str, *, when: str = "") -> None:
        self._script.add(amp_replies.call("shell_command", {"command": command}, when=when))

    def read(self, path: str, *, when: str = "") -> None:
        self._script.add(amp_replies.call("Read", {"path": path}, when=when))

    def fetch(self, url: str, *, when: str) -> bool:
        self._script.add(amp_replies.call("read_web_page", {"url": url}, when=when))
        return True

    def get_weather(self, *, when: str = "") -> None:
        self._script.add(amp_replies.call("mcp__everyagent__get_weather", CITY, when=when))

    def together(self, *steps: str, when: str = "", text: str = "") -> None:
        calls = [_step(step, "mcp__everyagent__get_weather", "shell_command") for step in steps]
        self._script.add(amp_replies.calls(*calls, when=when, text=text))

    def add(self, *, when: str = "") -> None:
        self._script.add(amp_replies.call("mcp__sums__add", SUM, when=when))

    def last_input(self) -> str:
        return msgspec.json.encode([thread.messages for thread in self._server.threads.values()]).decode()

    def instructions(self) -> str:
        return ""

    def hold(self, *, when: str) -> None:
        self._script.add(amp_replies.say(LONG, when=when, held=True))

    def fail(self, *, when: str) -> None:
        self._script.add(amp_replies.fail("Scripted failure", when=when))


def _step(step: str, custom: str, shell: str) -> tuple[str, dict[str, Json]]:
    """The tool and its input."""
    if step.startswith("$ "):
        command = step.removeprefix("$ ")
        return shell, {"command": command, "description": "Runs it"} if shell == "bash" else {"command": command}
    return custom, {"city": step}


@contextmanager
def real_model(agent: str, daemon: DaemonProcess, folder: Path) -> Generator[RealModel]:
    match agent:
        case "claude":
            with MessagesServer() as messages:
                yield ClaudeModel(messages, daemon, folder)
        case "codex":
            with ResponsesServer() as responses:
                yield CodexModel(responses, daemon, folder)
        case "opencode":
            with ChatServer() as chat:
                yield OpencodeModel(chat, daemon, folder)
        case "amp":
            with AmpServer() as server:
                yield AmpModel(server, daemon, folder)
        case _:
            with GeminiServer() if agent == "gemini" else ChatServer() as other:
                yield AcpModel(agent, other, daemon, folder)
