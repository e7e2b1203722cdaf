"""Self-hosted sessions on the real agents, whose toolset the client executes."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.agents.amp.amp_stage import AmpSession
from tests.agents.claude.claude_stage import ClaudeSession
from tests.agents.codex.codex_stage import CodexSession
from tests.agents.opencode.opencode_stage import MODEL as OPENCODE_MODEL
from tests.agents.opencode.opencode_stage import OpencodeSession
from tests.agents.stage import daemon_of
from tests.managed import parity
from tests.managed.conftest import rebuilt
from tests.managed.sdks import NEWEST, PYTHON, Sdk
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.scripted import amp_replies, chat_replies, messages_replies, responses_replies
from tests.scripted.amp_server import AmpServer
from tests.scripted.chat_server import ChatServer
from tests.scripted.messages_server import MessagesServer
from tests.scripted.responses_server import ResponsesServer

OWN = "touch own.txt"
UNAME = {"command": "uname"}
#: The tool results that the model receives.
RESULTS = ("Plan 9", "They said: Not there.")


class Scene(NamedTuple):
    """A model that calls the agent's own shell, then the client's, and replies to its result; twice."""

    model: str
    environment: dict[str, str]


@contextmanager
def scene_of(agent: str, daemon: DaemonProcess, folder: Path) -> Generator[Scene]:
    match agent:
        case "claude":
            with MessagesServer() as messages:
                said = messages_replies
                for result in RESULTS:
                    messages.script.add(said.call("Bash", {"command": OWN}), said.call("mcp__everyagent__bash", UNAME))
                    messages.script.add(said.say("Looked.", when=result))
                yield Scene("claude-sonnet-4-6", ClaudeSession(daemon, messages, folder).environment())
        case "codex":
            with ResponsesServer() as responses:
                answers = responses_replies
                for result in RESULTS:
                    uname = answers.call("bash", UNAME, namespace="mcp__everyagent")
                    responses.script.add(answers.run(OWN), uname, answers.say("Looked.", when=result))
                yield Scene("gpt-5.5", CodexSession(daemon, responses, folder).environment())
        case "opencode":
            with ChatServer() as chat:
                completed = chat_replies
                for result in RESULTS:
                    uname = completed.call("everyagent_bash", {**UNAME})
                    chat.script.add(completed.run(OWN), uname, completed.say("Looked.", when=result))
                yield Scene(OPENCODE_MODEL, OpencodeSession(daemon, chat, folder).environment())
        case "amp":
            with AmpServer() as server:
                turns = amp_replies
                for result in RESULTS:
                    own = turns.call("shell_command", {"command": OWN})
                    server.script.add(
                        own, turns.call("mcp__everyagent__bash", UNAME), turns.say("Looked.", when=result)
                    )
                yield Scene("amp", AmpSession(daemon, server, folder).environment())
        case _:
            raise ValueError(agent)


@pytest.mark.parametrize("agent", sorted(SURROUNDINGS))
def test_the_client_runs_the_tools_that_the_agent_does_not_have(agent: str, tmp_path: Path) -> None:
    for folder in ("home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    with daemon_of(tmp_path / "daemon", **SURROUNDINGS[agent](tmp_path / "home")) as daemon:
        with scene_of(agent, daemon, tmp_path / "agent") as scene:
            report = NEWEST.run(
                "hosted",
                daemon.url,
                agent=agent,
                model=scene.model,
                variables=msgspec.json.encode(scene.environment).decode(),
                look="Look where you are",
                says="Looked.",
            )
        parity.check(NEWEST, "hosted", agent, report)
        assert list(daemon.data_dir.rglob("own.txt")) == []
        daemon.stop()
        assert rebuilt(daemon)


@pytest.mark.parametrize("sdk", PYTHON[:2], ids=lambda sdk: sdk.name)
def test_every_sdk_with_self_hosting_runs_the_toolset(sdk: Sdk, daemon: DaemonProcess) -> None:
    look = '[tool command="touch own.txt"] [custom name=bash input={"command":"uname"}] [hello]'
    report = sdk.run("hosted", daemon.url, agent="mock", model="mock-small", variables="{}", look=look, says="Hello!")
    parity.check(sdk, "hosted", "mock", report)
