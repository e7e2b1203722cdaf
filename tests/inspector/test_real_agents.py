"""Each real agent in the inspector: asks, tools, questions, errors and termination."""

import os
import re
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.agents.amp import program as amp_program
from everyagent.agents.claude import program as claude_program
from everyagent.agents.claude.asks import APPROVE_EDITS
from everyagent.agents.codex import program as codex_program
from everyagent.agents.opencode import program as opencode_program
from tests.agents.amp.amp_stage import AmpSession, amp_binary
from tests.agents.claude.claude_stage import ClaudeSession, claude_binary
from tests.agents.codex.codex_stage import CodexSession, codex_binary
from tests.agents.opencode.opencode_stage import OpencodeSession, opencode_binary, ripgrep_folder
from tests.agents.stage import Model, Stage, daemon_of
from tests.inspector.page_driver import Daemon, Inspector, enter, until
from tests.inspector.test_sessions import choose
from tests.managed.real_models import AmpModel, ClaudeModel, CodexModel, OpencodeModel
from tests.scripted import amp_replies, chat_replies, messages_replies, responses_replies
from tests.scripted.amp_server import AmpServer
from tests.scripted.chat_server import ChatServer
from tests.scripted.messages_server import MessagesServer
from tests.scripted.responses_server import ResponsesServer

COMMAND = "echo made > made.txt && cat made.txt"


@contextmanager
def claude(folder: Path) -> Generator[Stage[MessagesServer]]:
    environment = {claude_program.BINARY_VARIABLE: claude_binary()}
    with (
        MessagesServer() as model,
        daemon_of(folder, **environment) as daemon,
        ClaudeSession(daemon, model, folder).played() as stage,
    ):
        run = messages_replies.call("Bash", {"command": COMMAND, "description": "make a file"}, text="I make it.")
        model.script.add(run, messages_replies.say("It is **made**."))
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
        model.script.add(responses_replies.run(COMMAND), responses_replies.say("It is **made**."))
        yield stage


@contextmanager
def opencode(folder: Path) -> Generator[Stage[ChatServer]]:
    folders = {f"XDG_{name.upper()}_HOME": str(folder / name) for name in ("config", "data", "state", "cache")}
    path = f"{os.environ['PATH']}:{ripgrep_folder()}"
    environment = {opencode_program.BINARY_VARIABLE: opencode_binary(), "HOME": str(folder), "PATH": path, **folders}
    with (
        ChatServer() as model,
        daemon_of(folder, **environment) as daemon,
        OpencodeSession(daemon, model, folder).played() as stage,
    ):
        model.script.add(chat_replies.run(COMMAND), chat_replies.say("It is **made**."))
        yield stage


@contextmanager
def amp(folder: Path) -> Generator[Stage[AmpServer]]:
    with (
        AmpServer() as model,
        daemon_of(folder, **{amp_program.BINARY_VARIABLE: amp_binary()}) as daemon,
        AmpSession(daemon, model, folder).played() as stage,
    ):
        run = amp_replies.call("shell_command", {"command": COMMAND})
        model.script.add(run, amp_replies.say("It is **made**."))
        yield stage


#: One line for each agent: a stage whose model runs the command and then says that it is made.
AGENTS: dict[str, Callable[[Path], AbstractContextManager[Stage[Model]]]] = {
    "claude": claude,
    "codex": codex,
    "opencode": opencode,
    "amp": amp,
}
#: The same agents' models, which also ask and fail. Amp has no questions.
MODELS = {"claude": ClaudeModel, "codex": CodexModel, "opencode": OpencodeModel, "amp": AmpModel}


async def test_a_plan_of_claude_is_rejected_and_then_approved(
    built: None, context: BrowserContext, tmp_path: Path
) -> None:
    with (
        MessagesServer() as model,
        daemon_of(tmp_path, **{claude_program.BINARY_VARIABLE: claude_binary()}) as daemon,
        ClaudeSession(daemon, model, tmp_path).played() as stage,
    ):
        plan = messages_replies.call("ExitPlanMode", {"plan": "# Plan\n1. Write x.txt"})
        path = str(stage.workspace / "x.txt")
        write = messages_replies.call("Write", {"file_path": path, "content": "x"})
        model.script.add(plan, plan, write, messages_replies.say("Carried out."))
        stage.create(title="Plans", permissionMode="plan")
        tab = await enter(context, Daemon(daemon, tmp_path))
        await tab.open(stage.id)
        await tab.say("Plan it")
        card = tab.page.locator("[data-ask]")
        await expect(card.get_by_role("listitem")).to_have_text(["Write x.txt"])
        told = tab.page.get_by_role("region", name="Plan", exact=True)
        await expect(told.get_by_role("listitem")).to_have_text(["Write x.txt"])
        await tab.log.focus()
        await tab.page.keyboard.press("x")
        await tab.page.keyboard.type("say why first")
        await tab.page.keyboard.press("Enter")
        await expect(tab.entries("ask").filter(has_text="say why first")).to_be_visible()
        await until(lambda: "say why first" in model.requests[-1].new_text)
        await card.get_by_label(APPROVE_EDITS).check()
        await card.get_by_role("button", name=re.compile("^Answer")).click()
        await expect(tab.log).to_contain_text("Carried out.")
        await expect(tab.page.get_by_label("Permissions", exact=True)).to_have_value("acceptEdits")
        assert Path(path).read_text() == "x"
        assert tab.complaints() == []


#: Calls that change line 30 of a file. Claude Code and OpenCode read a file before they change it.
EDITS: dict[str, Callable[[str], list[Any]]] = {
    "claude": lambda path: [
        messages_replies.call("Read", {"file_path": path}, when="Edit it"),
        messages_replies.call("Edit", {"file_path": path, "old_string": "line 30", "new_string": "line thirty"}),
    ],
    "codex": lambda path: [
        responses_replies.patch(
            "*** Begin Patch\n*** Update File: poem.txt\n@@\n line 29\n-line 30\n+line thirty\n*** End Patch\n",
            when="Edit it",
        )
    ],
    "opencode": lambda path: [
        chat_replies.call("read", {"filePath": path}, when="Edit it"),
        chat_replies.call("edit", {"filePath": path, "oldString": "line 30", "newString": "line thirty"}),
    ],
    "amp": lambda path: [
        amp_replies.call("edit_file", {"path": path, "old_str": "line 30", "new_str": "line thirty"}, when="Edit it")
    ],
}


async def sees_one_diff(tab: Inspector) -> None:
    """The newest turn shows its edit once, with the numbers of the lines in the file."""
    diff = tab.page.locator(".diff:not(.unnumbered)")
    await expect(diff).to_have_count(1)
    for kind in ("removed", "added"):
        row = diff.locator(f"tr.{kind}")
        await expect(row).to_have_count(1)
        await expect(row.locator(".number").filter(has_text="30")).to_have_count(1)
    await expect(tab.page.locator(".tool pre", has_text="line thirty")).to_have_count(0)


async def tokens_add_up(tab: Inspector, session: str) -> None:
    """The count of the session is the sum of those of its turns, and the newest turn shows its own."""
    ended = tab.daemon.events(session, "types=turn.ended")
    counts = [_total(cast("dict[str, dict[str, dict[str, int]]]", event)["data"]["usage"]) for event in ended]
    await expect(tab.page.locator(".tokens")).to_have_text(f"{sum(counts):,} tokens")
    await expect(tab.entries("turn").last).to_contain_text(f" {counts[-1]:,} tokens")


def _total(usage: dict[str, int]) -> int:
    return sum(count for kind, count in usage.items() if kind != "reasoning_tokens")


@pytest.mark.parametrize("agent", AGENTS)
async def test_a_real_agent_asks_runs_answers_fails_and_is_terminated(
    built: None, context: BrowserContext, tmp_path: Path, agent: str
) -> None:
    with AGENTS[agent](tmp_path) as stage:
        model = MODELS[agent](stage.model, stage.daemon, tmp_path)  # pyright: ignore[reportArgumentType]
        stage.create(title=f"Real {agent}")
        tab = await enter(context, Daemon(stage.daemon, tmp_path))
        await tab.open(stage.id)
        await tab.say("Make it")
        card = tab.page.locator("[data-ask]")
        await expect(card).to_contain_text("made.txt")
        await card.get_by_role("button", name="Allow once").click()
        await expect(tab.page.locator(".message.assistant strong", has_text="made")).to_be_visible()
        await expect(tab.entries("turn")).to_contain_text("Done")
        tool = tab.entries("tool").last
        if await tool.locator(".tool-body").count() == 0:
            await tool.locator(".fold").first.click()
        await expect(tool.locator(".output")).to_contain_text("made")
        await tab.open(stage.id, "events", 5)
        await expect(tab.page.get_by_label("Native frame", exact=True)).to_be_visible()
        await tab.open(stage.id, "timeline")
        await expect(tab.page.get_by_role("list", name="What happened in this turn")).to_contain_text("permission")
        await tab.open(stage.id)
        if model.ask(when="Ask me"):
            model.say("Green it is.", when="Green")
            await tab.say("Ask me")
            await card.get_by_label("Green").check()
            await card.get_by_role("button", name=re.compile("^Answer")).click()
            await expect(tab.page.locator(".message.assistant").last).to_contain_text("Green it is.")
            await expect(tab.log).not_to_contain_text("[object Object]")
        poem = stage.workspace / "poem.txt"
        poem.write_text("".join(f"line {number}\n" for number in range(1, 41)))
        permissions = tab.page.get_by_label("Permissions", exact=True)
        await expect(permissions.get_by_role("option", name=re.compile("Bypass"))).to_have_count(1)
        await permissions.select_option("bypass")
        stage.model.script.add(*EDITS[agent](str(poem)))  # pyright: ignore[reportAttributeAccessIssue]
        model.say("It is edited.")
        await tab.say("Edit it")
        await expect(tab.page.locator(".message.assistant").last).to_contain_text("It is edited.")
        await expect(tab.status).to_have_text("Idle")
        await sees_one_diff(tab)
        await tokens_add_up(tab, stage.id)
        model.fail(when="Fall now")
        await tab.say("Fall now")
        await expect(tab.entries("turn").last).to_contain_text("Ended in an error")
        await expect(tab.page.locator(".error-box").last).to_be_visible()
        await choose(tab, "Terminate…")
        await tab.page.get_by_role("dialog").get_by_role("button", name="Terminate").click()
        await expect(tab.status).to_have_text("Ended")
        assert tab.complaints() == []
