"""Each real agent in the inspector: it writes, asks, runs and is done, and nothing here asks which one it is."""

from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from everyagent.agents.claude import program as claude_program
from everyagent.agents.codex import program as codex_program
from everyagent.testing import scripted_replies, scripted_responses
from everyagent.testing.messages_server import MessagesServer
from everyagent.testing.responses_server import ResponsesServer
from tests.agents.claude.claude_stage import ClaudeSession, claude_binary
from tests.agents.codex.codex_stage import CodexSession, codex_binary
from tests.agents.stage import Stage, daemon_of
from tests.inspector.looking import Daemon, Inspector

COMMAND = "echo made > made.txt && cat made.txt"


@contextmanager
def claude(folder: Path) -> Generator[Stage[MessagesServer]]:
    environment = {claude_program.BINARY_VARIABLE: claude_binary()}
    with (
        MessagesServer() as model,
        daemon_of(folder, **environment) as daemon,
        ClaudeSession(daemon, model, folder).played() as stage,
    ):
        run = scripted_replies.call("Bash", {"command": COMMAND, "description": "make a file"}, text="I make it.")
        model.script.add(run, scripted_replies.say("It is **made**."))
        yield stage


@contextmanager
def codex(folder: Path) -> Generator[Stage[ResponsesServer]]:
    (folder / "codex").mkdir()
    environment = {codex_program.BINARY_VARIABLE: codex_binary(), "CODEX_HOME": str(folder / "codex")}
    with (
        ResponsesServer() as model,
        daemon_of(folder, **environment) as daemon,
        CodexSession(daemon, model, folder).played() as stage,
    ):
        model.script.add(scripted_responses.run(COMMAND), scripted_responses.say("It is **made**."))
        yield stage


#: One line for each agent: a stage whose model runs the command and then says that it is made.
AGENTS: dict[str, Callable[[Path], AbstractContextManager[Stage[MessagesServer] | Stage[ResponsesServer]]]] = {
    "claude": claude,
    "codex": codex,
}


@pytest.mark.parametrize("agent", AGENTS)
def test_a_real_agent_asks_runs_and_answers(built: None, context: BrowserContext, tmp_path: Path, agent: str) -> None:
    with AGENTS[agent](tmp_path) as stage:
        stage.create(title=f"Real {agent}")
        tab = Inspector(context, Daemon(stage.daemon, tmp_path)).enter().open(stage.id)
        tab.say("Make it")
        card = tab.page.locator("[data-ask]")
        expect(card).to_contain_text("made.txt")
        card.get_by_role("button", name="Allow once").click()
        expect(tab.page.locator(".message.assistant strong", has_text="made")).to_be_visible()
        expect(tab.entries("turn")).to_contain_text("Done")
        tool = tab.entries("tool").last
        if tool.locator(".tool-body").count() == 0:
            tool.locator(".fold").first.click()
        expect(tool.locator(".output")).to_contain_text("made")
        tab.open(stage.id, "events", 5)
        expect(tab.page.get_by_label("Native frame", exact=True)).to_be_visible()
        tab.open(stage.id, "timeline")
        expect(tab.page.get_by_role("list", name="What happened in this turn")).to_contain_text("permission")
        assert tab.complaints() == []
        tab.page.close()
