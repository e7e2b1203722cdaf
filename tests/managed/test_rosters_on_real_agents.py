"""Rosters of real agents, each with a scripted model."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from everyagent.model.parts import Json
from everyagent.testing.daemon import DaemonProcess
from tests.agents.amp.amp_stage import AmpSession
from tests.agents.claude.claude_stage import ClaudeSession
from tests.agents.codex.codex_stage import CodexSession
from tests.agents.opencode.opencode_stage import MODEL as OPENCODE_MODEL
from tests.agents.opencode.opencode_stage import OpencodeSession
from tests.agents.stage import daemon_of
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, Raw, required, texts
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.managed.test_restarts import allow
from tests.managed.test_rosters import checked, coordinate, kinds, member, results, sessions_of_threads, threads
from tests.managed.test_thread_interrupts import on_thread
from tests.scripted import amp_replies, chat_replies, messages_replies, responses_replies
from tests.scripted.amp_server import AmpServer
from tests.scripted.chat_server import ChatServer
from tests.scripted.messages_server import MessagesServer
from tests.scripted.responses_server import ResponsesServer


def test_a_coordinator_and_its_thread_run_on_different_agents(tmp_path: Path) -> None:
    """Claude Code coordinates Codex: it asks for a command, the client allows it, and the reply reaches Claude Code."""
    for folder in ("home", "daemon", "claude", "codex"):
        (tmp_path / folder).mkdir()
    around = SURROUNDINGS["claude"](tmp_path / "home") | SURROUNDINGS["codex"](tmp_path / "home")
    served = daemon_of(tmp_path / "daemon", **around)
    with served as daemon, MessagesServer() as messages, ResponsesServer() as responses:
        claude = ClaudeSession(daemon, messages, tmp_path / "claude").environment()
        codex = CodexSession(daemon, responses, tmp_path / "codex").environment()
        task = {"agent": "Coder", "message": "Make the file"}
        messages.script.add(
            messages_replies.call("mcp__everyagent__call_agents", {"tasks": [task]}, when="Get it made"),
            messages_replies.say("The coder made it.", when="It is made"),
        )
        responses.script.add(
            responses_replies.run("echo made > made.txt && cat made.txt", when="Make the file"),
            responses_replies.say("It is made."),
        )
        with closing(Raw(daemon)) as raw:
            vaults = [raw.vault({**codex, **claude})]
            coder = member(raw, "Coder", ASKING, agent="codex", model="gpt-5.5", system="You write files.")
            coordinate(raw, coder, agent="claude", model="claude-sonnet-4-6", vault_ids=vaults)
            raw.say("Get it made")
            (asked,) = required(raw.wait_idle("requires_action"))
            (use,) = [event for event in raw.events() if event["type"] == "agent.tool_use"]
            (thread,) = threads(raw)
            assert (use["id"], use["name"], use["session_thread_id"]) == (asked, "bash", thread["id"])
            raw.send(allow(asked))
            raw.wait_idle("end_turn")
            assert "The coder made it." in texts(checked(raw))
            assert results(raw)[0]["reply"] == "It is made."
            own = kinds(on_thread(raw, str(thread["id"])))
            assert own[0] == "agent.thread_message_received"
            assert {"agent.tool_use", "agent.tool_result", "agent.message"} <= set(own)
            (child,) = sessions_of_threads(raw)
            assert (child["agent"], child["model"]) == ("codex", "gpt-5.5")
            folder = raw.universal_call("GET", raw.path)["directory"]
            assert child["directory"] == folder, "all share one folder"
            assert Path(str(folder), "made.txt").read_text() == "made\n"
        daemon.stop()
        assert rebuilt(daemon)


@contextmanager
def scripted(agent: str, daemon: DaemonProcess, folder: Path) -> Generator[tuple[str, dict[str, str]]]:
    """The model of an agent that calls the tool for "Get it done", and repeats the reply; and its environment."""
    given: dict[str, Json] = {"tasks": [{"agent": "Helper", "message": "It is done."}]}
    done, name = "The helper did it.", "call_agents"
    match agent:
        case "amp":
            with AmpServer() as amp:
                amp.script.add(amp_replies.call(f"mcp__everyagent__{name}", given, when="Get it done"))
                amp.script.add(amp_replies.say(done, when="It is done."))
                yield "amp", AmpSession(daemon, amp, folder).environment()
        case "codex":
            with ResponsesServer() as codex:
                codex.script.add(responses_replies.call(name, given, namespace="mcp__everyagent", when="Get it done"))
                codex.script.add(responses_replies.say(done, when="It is done."))
                yield "gpt-5.5", CodexSession(daemon, codex, folder).environment()
        case _:
            with ChatServer() as chat:
                chat.script.add(chat_replies.call(f"everyagent_{name}", given, when="Get it done"))
                chat.script.add(chat_replies.say(done, when="It is done."))
                yield OPENCODE_MODEL, OpencodeSession(daemon, chat, folder).environment()


@pytest.mark.parametrize("agent", ["amp", "codex", "opencode"])
def test_every_agent_can_coordinate(agent: str, tmp_path: Path) -> None:
    for folder in ("home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    with daemon_of(tmp_path / "daemon", **SURROUNDINGS[agent](tmp_path / "home")) as daemon:
        with scripted(agent, daemon, tmp_path / "agent") as (model, variables), closing(Raw(daemon)) as raw:
            coordinate(raw, member(raw, "Helper", TOOLSET), agent=agent, model=model, vault_ids=[raw.vault(variables)])
            raw.say("Get it done")
            raw.wait_idle("end_turn")
            events = checked(raw)
            assert "The helper did it." in texts(events)
            assert "agent.mcp_tool_use" not in kinds(events)
            assert kinds(events).count("agent.thread_message_received") == 1
        daemon.stop()
        assert rebuilt(daemon)
