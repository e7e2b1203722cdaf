"""The real ACP agents behind a real daemon: one session each through every layer.

An agent that cannot be installed on this machine is skipped, with the reason.
"""

import os
import signal
import sys
import threading
from collections.abc import Generator
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest
from acp_stage import DIALECTS, AcpSession, surroundings
from tests.agents import adding_mcp_server
from tests.agents.offline import needs_isolation
from tests.agents.stage import daemon_of, daemon_with_runner
from tests.managed.sums_stage import sums_stage
from tests.managed.test_networking import PROBE, Here
from tests.scripted.chat_replies import call, say
from tests.scripted.chat_server import ChatServer
from tests.scripted.gemini_server import GeminiServer

from everyagent.agents.acp import profiles
from everyagent.model.events import Error, PermissionRequested, ToolRequested, TurnEnded, Unparsed
from everyagent.model.parts import ToolCallPart
from everyagent.runtime.wall_probe import unavailable_reason
from everyagent.testing.daemon import DaemonProcess

LEVELS = ["none"] if unavailable_reason() else ["namespace", "none"]
SUMS = Path(adding_mcp_server.__file__)
CITY = {"type": "object", "properties": {"city": {"type": "string"}}}
WEATHER = {"name": "get_weather", "description": "The weather.", "inputSchema": CITY}
#: Settings of a project that name another file for bash to read. They must have no effect.
HOSTILE = {
    ".env": "BASH_ENV=/dev/null\n",
    ".gemini/.env": "BASH_ENV=/dev/null\n",
    ".qwen/settings.json": '{"env": {"BASH_ENV": "/dev/null"}}',
}


@pytest.fixture(scope="module", params=[*DIALECTS, "goose on a runner"])
def place(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def agent(place: str) -> str:
    return place.partition(" ")[0]


@pytest.fixture(scope="module")
def daemon(agent: str, place: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    folder = tmp_path_factory.mktemp(agent)
    start = daemon_of if place == agent else daemon_with_runner
    with start(folder, **surroundings(agent, folder)) as running:
        yield running


@pytest.fixture
def session(agent: str, daemon: DaemonProcess, tmp_path: Path) -> Generator[AcpSession]:
    """A session that the test creates."""
    with (
        GeminiServer() if agent == "gemini" else ChatServer() as model,
        AcpSession(agent, daemon, model, tmp_path).played() as staged,
    ):
        yield staged


def test_a_session_talks_asks_is_cancelled_dies_and_goes_on(session: AcpSession) -> None:
    script = session.model.script
    script.add(say("Hello there, friend."))
    assert session.create().turn("Greet me").stop_reason == "end_turn"
    assert session.replies() == ["Hello there, friend."]

    # Some agents ask their model for more after a turn: a reply to a prompt waits for that prompt.
    script.add(call(*session.shell("echo the-output | tee made"), text="I run it.", when="Run it"), say("It ran."))
    session.send("Run it")
    asked = session.next(PermissionRequested)
    assert "echo the-output | tee made" in str(asked.input)
    session.permit(asked.permission_id, "once")
    assert session.next(TurnEnded, 2).stop_reason == "end_turn"
    assert (session.workspace / "made").read_text() == "the-output\n"
    (made,) = session.items("tool_result")
    assert (made.status, made.turn_id) == ("completed", session.all(TurnEnded)[1].turn_id)

    script.add(call(*session.shell("touch unwanted"), when="Run another"), say("Then not."))
    session.send("Run another")
    session.permit(session.next(PermissionRequested, 2).permission_id, "reject")
    session.next(TurnEnded, 3)
    assert not (session.workspace / "unwanted").exists()
    script.forget()  # some agents end the turn when a call is rejected

    script.add(say("word " * 100, when="Talk for long", held=4))
    session.send("Talk for long")
    session.until_output("word")
    session.cancel()
    assert session.next(TurnEnded, 4).stop_reason == "interrupted"
    script.release_all()

    for pid in session.processes("acp"):
        os.kill(pid, signal.SIGKILL)
    script.add(say("I remember.", when="Do you remember?"))
    assert session.turn("Do you remember?").stop_reason == "end_turn"
    assert session.replies()[-1] == "I remember."
    asked_again = next(each for each in session.model.requests if "Do you remember?" in each.new_text)
    assert "Hello there, friend." in asked_again.everything
    assert session.all(Unparsed) == []
    assert [error.message for error in session.all(Error) if error.code not in ("agent_crashed", "internal")] == []


def test_custom_tools_and_mcp_servers_reach_the_model(session: AcpSession) -> None:
    script = session.model.script
    weather, add = session.tool("everyagent", "get_weather"), session.tool("sums", "add")
    script.add(call(weather, {"city": "Oslo"}, when="The weather"), call(add, {"a": 2, "b": 3}, when="It rains"))
    script.add(say("Rain and five.", when="5"))
    with sums_stage() as url:
        local = profiles.load(session.agent).local_mcp
        sums = {"type": "local", "command": [sys.executable, str(SUMS)]} if local else {"type": "remote", "url": url}
        session.create(permissionMode="bypass", tools=[WEATHER], mcp={"sums": sums})
        session.send("The weather, please")
        wanted = session.next(ToolRequested)
        assert (wanted.name, wanted.input) == ("get_weather", {"city": "Oslo"})
        session.call("POST", f"/sessions/{session.id}/tools/{wanted.tool_id}/reply", {"output": "It rains"})
        session.next(TurnEnded)
    assert session.replies()[-1] == "Rain and five."
    (part,) = [each for each in session.items("tool_call")[-1].content if isinstance(each, ToolCallPart)]
    if session.agent != "copilot":  # its calls have kinds, no names
        assert (part.name, part.mcp_server) == ("add", "sums")


def test_tool_policies_decide_without_asking(session: AcpSession) -> None:
    session.model.script.add(call(*session.shell("touch unwanted")), say("Then not."))
    session.create(toolPolicies={"tools": {"bash": "deny"}}, permissionMode="bypass").turn("Run it")
    assert session.all(PermissionRequested) == []
    assert not (session.workspace / "unwanted").exists()
    session.model.script.forget()
    session.model.script.add(call(*session.shell("touch wanted"), when="Now run it"), say("Done."))
    session.change(toolPolicies={"tools": {"bash": "allow"}}, permissionMode="default")
    session.turn("Now run it")
    assert session.all(PermissionRequested) == []
    assert (session.workspace / "wanted").exists()


@pytest.fixture(scope="module")
def port() -> Generator[int]:
    """The port of a server on this machine that the probe tries to reach."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Here) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_address[1]
        server.shutdown()


@needs_isolation
def test_commands_reach_only_allowed_hosts(session: AcpSession, port: int) -> None:
    if not profiles.load(session.agent).bash_env:
        refused = session.create().call("POST", "/sessions", {"agent": session.agent, "allowedHosts": []}, expect=400)
        assert "cannot be limited to some hosts" in refused.text
        return
    for level in LEVELS if session.agent == "goose" else LEVELS[:1]:  # the fastest agent stands for the other level
        session.create(permissionMode="bypass", isolation=level, allowedHosts=["127.0.0.1"])
        for name, content in {**HOSTILE, "probe.py": PROBE}.items():
            (session.workspace / name).parent.mkdir(parents=True, exist_ok=True)
            (session.workspace / name).write_text(content)
        probe = call(*session.shell(f"{sys.executable} probe.py {port} > tried"), when="Try it")
        session.model.script.add(probe, say("Tried."))
        session.turn("Try it")
        tried = (session.workspace / "tried").read_text()
        assert "direct refused" in tried
        assert "proxied reached" in tried
        assert "other refused" in tried
        session.model.script.forget()
