"""Managed sessions on the real agents, each with a scripted model on loopback."""

import base64
import os
from collections.abc import Callable, Generator, Sequence
from pathlib import Path
from typing import cast

import msgspec
import pytest

from everyagent.agents.amp import program as amp
from everyagent.agents.claude import program as claude
from everyagent.agents.codex import program as codex
from everyagent.agents.mock.program import png
from everyagent.agents.opencode import program as opencode
from everyagent.runtime.ports import free_port
from everyagent.testing.daemon import DaemonProcess
from tests.agents.amp.amp_stage import amp_binary
from tests.agents.claude.claude_stage import claude_binary
from tests.agents.codex.codex_stage import codex_binary
from tests.agents.opencode.opencode_stage import MODEL as OPENCODE_MODEL
from tests.agents.opencode.opencode_stage import opencode_binary, ripgrep_folder
from tests.agents.stage import daemon_of
from tests.managed import parity
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, WEATHER, Event, Raw, required, texts
from tests.managed.real_model import RealModel
from tests.managed.real_models import real_model
from tests.managed.sdks import NEWEST
from tests.managed.sums_stage import sums_stage
from tests.managed.test_client_loop import FROM_START, MESSAGES, loop, step_of

COMMAND = "echo made > made.txt && cat made.txt"
VERDICT = '{"result": "satisfied", "explanation": "It does."}'
#: Prices of the models whose agents report no cost.
PRICES = {model: {"input": 1, "output": 5} for model in ("amp", "gpt-5.5", "gpt-6.1-sol", OPENCODE_MODEL)}
PRICES["claude-sonnet-4-6"] = {"input": 1, "output": 5}


def works(scene: RealModel, *, calls: bool) -> None:
    """Script a model that runs `COMMAND`, optionally calls the custom tool, replies, and runs the command again."""
    scene.run(COMMAND)
    if calls:
        scene.get_weather()
    scene.say("Made.", thought="It is there.")
    scene.run(COMMAND)


def can_do_all(scene: RealModel) -> str:
    """Script the model for the flow `real`. Returns the optional steps that this agent supports."""
    can: list[str] = []
    works(scene, calls=True)
    scene.add(when="Add them")
    scene.say("Five.")
    scene.say("Swordfish.", when="What is the password?")
    if scene.ask(when="Ask me"):
        can.append("ask_question")
        scene.say("Green it is.", when="Green")
    if scene.compact():
        can.append("compact")
    if scene.fail_once():
        can.append("retry")
        scene.say("Up again.", when="Stumble")
    scene.say("Hello, world.", when="Greet the world")
    scene.say(VERDICT, when="You judge the work")
    scene.delegate(when="Ask a helper")
    if scene.helpers_retry:
        can.append("helpers_retry")
    scene.fail(when="Fall")
    scene.run("echo spent", when="Spend it")
    scene.hold(when="spent")
    return " ".join(can)


def opencode_surroundings(home: Path) -> dict[str, str]:
    """An environment with an empty home, so that the user's OpenCode is not touched."""
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "state", "cache")}
    path = f"{os.environ['PATH']}:{ripgrep_folder()}"
    return {opencode.BINARY_VARIABLE: opencode_binary(), "HOME": str(home), "PATH": path, **folders}


#: The environment of an agent's daemon, given a folder.
SURROUNDINGS: dict[str, Callable[[Path], dict[str, str]]] = {
    "amp": lambda _: {amp.BINARY_VARIABLE: amp_binary()},
    "claude": lambda _: {claude.BINARY_VARIABLE: claude_binary()},
    "codex": lambda _: {codex.BINARY_VARIABLE: codex_binary()},
    "opencode": opencode_surroundings,
}


@pytest.fixture(scope="module", params=sorted(SURROUNDINGS))
def staged(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Generator[tuple[str, DaemonProcess]]:
    surroundings = SURROUNDINGS[request.param](tmp_path_factory.mktemp("home"))
    prices = tmp_path_factory.mktemp("prices") / "prices.json"
    prices.write_bytes(msgspec.json.encode(PRICES))
    with daemon_of(tmp_path_factory.mktemp("daemon"), EVERYAGENT_PRICES=str(prices), **surroundings) as running:
        yield request.param, running
        running.stop()
        assert rebuilt(running)


@pytest.fixture
def raw(staged: tuple[str, DaemonProcess]) -> Generator[Raw]:
    client = Raw(staged[1])
    yield client
    client.close()


def begin(raw: Raw, scene: RealModel, tools: Sequence[object], resources: Sequence[object] = ()) -> None:
    """Create a session with a vault that has the variables for the scripted model."""
    vault = raw.call("POST", "/vaults", {"display_name": "model"})
    for name, value in scene.environment.items():
        auth = {
            "type": "environment_variable",
            "secret_name": name,
            "secret_value": value,
            "networking": {"type": "unrestricted"},
        }
        raw.call("POST", f"/vaults/{vault['id']}/credentials", {"auth": auth})
    given = {"vault_ids": [vault["id"]], "resources": list(resources)}
    raw.create(*tools, agent=scene.agent, model=scene.model, **given)


def of(events: list[Event], kind: str) -> list[Event]:
    return [event for event in events if event["type"] == kind]


def test_an_agent_works_and_calls_a_custom_tool(staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path) -> None:
    agent, daemon = staged
    with real_model(agent, daemon, tmp_path) as scene:
        works(scene, calls=True)
        begin(raw, scene, [TOOLSET, WEATHER])
        raw.say("Make it, and tell the weather")
        (asked,) = required(raw.wait_idle("requires_action"))
        (use,) = of(raw.events(), "agent.custom_tool_use")
        assert (use["id"], use["name"], use["input"]) == (asked, "get_weather", {"city": "Oslo"})
        sunny = [{"type": "text", "text": "sunny"}]
        raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": asked, "content": sunny})
        raw.wait_idle("end_turn")
    events = raw.events()
    (command,) = of(events, "agent.tool_use")
    (result,) = of(events, "agent.tool_result")
    assert command["name"] == "bash"
    assert command["evaluated_permission"] == "allow"
    assert "made.txt" in str(command["input"])
    assert result["tool_use_id"] == command["id"]
    assert "made" in str(result["content"])
    assert "Made." in texts(events)
    spans = of(events, "span.model_request_end")
    assert len(spans) == len(of(events, "span.model_request_start")) == 3
    for span in spans:
        usage = cast("dict[str, int]", span["model_usage"])
        assert usage["input_tokens"] > 0
        assert usage["output_tokens"] > 0
    assert not of(events, "agent.mcp_tool_use")
    made = daemon.data_dir / "workspaces" / raw.session_id / "made.txt"
    assert made.read_text() == "made\n"


def test_the_documented_loop_never_gets_an_error(staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path) -> None:
    """Also with agents that make the calls of a message one after the other: Claude Code and Codex."""
    agent, daemon = staged
    with real_model(agent, daemon, tmp_path) as scene:
        begin(raw, scene, [ASKING, WEATHER])
        stream = raw.stream(**FROM_START)
        for number, steps in enumerate(MESSAGES):
            scene.together(*steps, text="I look.", when=f"Go now {number}")
            scene.say(f"Done {number}.")
            raw.say(f"Go now {number}")
            first, *_ = loop(raw, stream)
            assert [step_of(use) for use in first] == steps, "one idle event has them all, in the message's order"
            for step in steps:
                assert step.startswith("$") or f"Rain in {step}" in scene.last_input()
        events = raw.events()
        assert [f"Done {number}." in texts(events) for number in range(len(MESSAGES))] == [True] * len(MESSAGES)
        said = [event["type"] for event in events if str(event["type"]).startswith("agent.")]
        assert said[0] == "agent.message", "text before a call comes before it"
        failed = [event for event in events if event["type"] in ("agent.tool_result", "session.error")]
        assert not [event for event in failed if event.get("is_error") or "error" in event]


def test_images_and_documents_that_a_custom_tool_returns_reach_the_model(
    staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path
) -> None:
    agent, daemon = staged
    picture = base64.b64encode(png.gradient(4)).decode()
    with real_model(agent, daemon, tmp_path) as scene:
        scene.get_weather()
        scene.run("cat mnt/session/results/*/*-Report_1.pdf")
        scene.say("I see.", when="a report")
        begin(raw, scene, [TOOLSET, WEATHER])
        raw.say("Show me the weather")
        (asked,) = required(raw.wait_idle("requires_action"))
        image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}}
        report = {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(b"a report").decode()}
        notes = {"type": "file", "file_id": raw.upload("notes.txt", b"bring a coat")}
        content = [
            {"type": "text", "text": "sunny"},
            image,
            {"type": "document", "source": report, "title": "Report/1.pdf", "context": "Of today."},
            {"type": "document", "source": notes},
        ]
        raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": asked, "content": content})
        raw.wait_idle("end_turn")
        for expected in ("sunny", picture, "Of today.", "-Report_1.pdf", "notes.txt", "bring a coat"):
            assert expected in scene.last_input()
        (answered,) = of(raw.events(), "user.custom_tool_result")
        kept = cast("list[Event]", answered["content"])
        assert kept[2]["source"] == report, "the event has the document itself"


def test_a_system_message_reaches_the_model_as_an_instruction(
    staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path
) -> None:
    """With the first message, in a running agent, and in one that resumes; and it holds from then on."""
    agent, daemon = staged
    given = ["BE KIND", "BE BRIEF", None, "BE BOLD"]
    with real_model(agent, daemon, tmp_path) as scene:
        begin(raw, scene, [TOOLSET])
        for number, text in enumerate(given):
            scene.say(f"Answer {number}.", when=f"Question {number}")
            if number == 3:  # the agent is restarted for the change
                raw.call("POST", raw.path, {"agent": {"tools": [TOOLSET, WEATHER]}})
            events: list[object] = [
                {"type": "user.message", "content": [{"type": "text", "text": f"Question {number}"}]}
            ]
            if text:
                events.append({"type": "system.message", "content": [{"type": "text", "text": text}]})
            answer = raw.answer("POST", f"{raw.path}/events", {"events": events})
            assert answer.status_code == 200, answer.text
            assert ("not privileged" in answer.headers.get("x-everyagent-warning", "")) == bool(text and agent == "amp")
            raw.wait_idle("end_turn")
            assert f"Answer {number}." in texts(raw.events())
            whole, privileged = scene.last_input(), scene.instructions()
            for expected in filter(None, given[: number + 1]):
                assert expected in whole
                assert (privileged.count(expected) == 1) or agent == "amp", (expected, privileged)
                assert (whole.count(expected) == 1) or agent == "amp"
    told = cast("list[Event]", raw.universal_call("GET", f"{raw.path}/events?types=item.completed")["events"])
    items = [cast("Event", cast("Event", event["data"])["item"]) for event in told]
    system = [str(item["content"]) for item in items if (item["kind"], item["role"]) == ("message", "system")]
    assert [text in shown for text, shown in zip(filter(None, given), system, strict=True)] == [True] * 3
    users = str([item["content"] for item in items if item["role"] == "user"])
    assert "BE " not in users


def test_a_page_of_another_domain_is_not_fetched(staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path) -> None:
    agent, daemon = staged
    refused = "does not allow pages of this address"
    config = {"name": "web_fetch", "allowed_domains": ["127.0.0.1"], "permission_policy": {"type": "always_allow"}}
    with real_model(agent, daemon, tmp_path) as scene:
        if not scene.fetch("https://www.evil.test/page", when="Look there"):
            return  # Codex has no such tool
        scene.say("I could not.", when=refused)
        begin(raw, scene, [{**TOOLSET, "configs": [config]}])
        raw.say("Look there")
        raw.wait_idle("end_turn")
        assert "I could not." in texts(raw.events())
        if agent == "opencode":
            scene.fetch(f"http://127.0.0.1:{free_port()}/page", when="Look here")
            scene.say("It failed.")
            raw.say("Look here")
            raw.wait_idle("end_turn")
            assert scene.last_input().count(refused) == 1, "an allowed address is tried"


@pytest.mark.parametrize("result", ["allow", "deny"])
def test_an_always_ask_tool_is_confirmed_first(
    staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path, result: str
) -> None:
    agent, daemon = staged
    with real_model(agent, daemon, tmp_path) as scene:
        works(scene, calls=False)
        begin(raw, scene, [ASKING])
        raw.say("Make it")
        (asked,) = required(raw.wait_idle("requires_action"))
        (use,) = of(raw.events(), "agent.tool_use")
        assert (use["id"], use["evaluated_permission"]) == (asked, "ask")
        made = daemon.data_dir / "workspaces" / raw.session_id / "made.txt"
        assert not made.exists()
        raw.send({"type": "user.tool_confirmation", "tool_use_id": asked, "result": result})
        raw.wait_idle("end_turn")
    assert made.exists() == (result == "allow")
    (told,) = of(raw.events(), "agent.tool_result")
    assert bool(told.get("is_error")) == (result == "deny")
    assert "Made." in texts(raw.events())


def test_the_newest_sdk_sees_the_whole_flow(staged: tuple[str, DaemonProcess], tmp_path: Path) -> None:
    agent, daemon = staged
    with real_model(agent, daemon, tmp_path) as scene, sums_stage() as sums:
        can = can_do_all(scene)
        report = NEWEST.run(
            "real",
            daemon.url,
            agent=agent,
            model=scene.model,
            helpers=scene.helpers or "",
            variables=msgspec.json.encode(scene.environment).decode(),
            sums=sums,
            can=can,
        )
    parity.check(NEWEST, "real", agent, report)


def test_an_agent_reads_the_memory_of_another_session(
    staged: tuple[str, DaemonProcess], raw: Raw, tmp_path: Path
) -> None:
    agent, daemon = staged
    store = raw.call("POST", "/memory_stores", {"name": f"Notes of {agent}", "description": "What Ada likes."})
    memories = f"/memory_stores/{store['id']}/memories"
    raw.call("POST", memories, {"path": "/cake.md", "content": "Ada likes cake."})
    folder = f"mnt/memory/notes-of-{agent}"
    with real_model(agent, daemon, tmp_path) as scene:
        scene.run(f"cat {folder}/cake.md && echo and tea >> {folder}/cake.md && echo new > {folder}/new.md")
        scene.say("Remembered.", when="Ada likes cake.")
        begin(raw, scene, [TOOLSET], [{"type": "memory_store", "memory_store_id": store["id"]}])
        raw.say("Ada likes tea, too.")
        raw.wait_idle("end_turn")
        assert "What Ada likes." in scene.last_input(), "the model gets the description"
    assert "Remembered." in texts(raw.events())
    listed = cast("list[Event]", raw.call("GET", f"{memories}?view=full")["data"])
    told = {str(each["path"]): str(each["content"]) for each in listed}
    assert told == {"/cake.md": "Ada likes cake.and tea\n", "/new.md": "new\n"}
    versions = f"/memory_stores/{store['id']}/memory_versions?session_id={raw.session_id}"
    assert len(cast("list[Event]", raw.call("GET", versions)["data"])) == 2
