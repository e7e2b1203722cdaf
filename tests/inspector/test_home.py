"""The first page of somebody who has agents, but no login yet."""

from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.agents.claude import program as claude
from everyagent.testing.daemon import DaemonProcess
from tests.inspector.page_driver import Daemon, enter


@pytest.fixture
def newcomer(built: None, tmp_path: Path) -> Generator[Daemon]:
    """A daemon of a user with an empty home and one agent."""
    program = tmp_path / "tools" / "claude"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{claude.TESTED_VERSION} (Claude Code)'\n")
    program.chmod(0o700)
    home = tmp_path / "home"
    home.mkdir()
    environment = {"PATH": str(program.parent), "HOME": str(home), claude.BINARY_VARIABLE: str(program)}
    environment |= dict.fromkeys(("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"), "")
    process = DaemonProcess(tmp_path / "data", environment=environment)
    process.start()
    yield Daemon(process, tmp_path)
    process.stop()


async def test_an_agent_without_a_login_is_not_called_ready(context: BrowserContext, newcomer: Daemon) -> None:
    tab = await enter(context, newcomer)
    page = tab.page.locator(".empty")
    await expect(page).to_contain_text("Log in: Claude Code with everyagent agents login claude")
    await expect(page).to_contain_text("Ready: ")
    ready = (await page.inner_text()).partition("Ready: ")[2].partition("\n")[0]
    assert "Mock" in ready
    assert "Claude" not in ready
