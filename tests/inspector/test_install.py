"""Installing an agent from the page, with the real npm and a registry on loopback."""

import os
import re
import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.agents.amp import program
from everyagent.testing.daemon import DaemonProcess
from tests.agents.amp.amp_stage import amp_binary
from tests.agents.registry import executable
from tests.inspector.package_registry import PackageRegistry
from tests.inspector.page_driver import Daemon, enter, until


@pytest.fixture
def registry(tmp_path: Path) -> Generator[PackageRegistry]:
    (tmp_path / "registry").mkdir()
    with PackageRegistry(program.pinned(), tmp_path / "registry") as registry:
        yield registry


@pytest.fixture
def bare(built: None, tmp_path: Path, registry: PackageRegistry) -> Generator[Daemon]:
    """A daemon that finds npm but no agent."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("npm", "node"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    environment = {
        "PATH": str(tools),
        "HOME": str(tmp_path),
        "npm_config_registry": registry.url,
        "npm_config_noproxy": "127.0.0.1",
        "npm_config_fetch_retries": "0",
        program.BINARY_VARIABLE: "",
    }
    process = DaemonProcess(tmp_path / "data", environment=environment)
    process.start()
    yield Daemon(process, tmp_path)
    registry.go_on.set()
    process.stop()


async def test_an_agent_is_installed_with_its_progress_in_all_tabs(
    context: BrowserContext, bare: Daemon, registry: PackageRegistry
) -> None:
    registry.serve(Path(amp_binary()))
    here, there = await enter(context, bare), await enter(context, bare)
    for tab in (here, there):
        await tab.go("#/agents")
        await expect(tab.page.get_by_role("article", name="Amp")).to_contain_text("not installed")
    await here.page.get_by_role("button", name="Install Amp").click()
    await until(registry.halfway.is_set)
    for tab in (here, there):
        going = tab.page.get_by_role("status", name="Installation of Amp")
        await expect(going.get_by_role("progressbar")).to_be_visible()
        await expect(going).to_contain_text(re.compile(r"Fetching: [1-9][\d.]* MB in "))
    late = await enter(context, bare)
    await late.go("#/agents")
    await expect(late.page.get_by_role("status", name="Installation of Amp")).to_contain_text("MB in")
    registry.go_on.set()
    for tab in (here, there, late):
        card = tab.page.get_by_role("article", name="Amp")
        await expect(card.get_by_text("installed", exact=True)).to_be_visible()
        await expect(card).to_contain_text(program.TESTED_VERSION)
        await expect(card.get_by_text("tested", exact=True)).to_be_visible()
        await expect(card.get_by_role("button", name="Install the tested version again")).to_be_visible()
        assert tab.complaints() == []
    await here.page.keyboard.press("n")
    dialog = here.page.get_by_role("dialog", name="New session")
    await expect(dialog.get_by_role("radio", name=re.compile("Amp"))).to_be_visible()


async def test_an_installation_that_fails_says_why_and_can_be_tried_again(
    context: BrowserContext, bare: Daemon, registry: PackageRegistry, tmp_path: Path
) -> None:
    registry.away = True
    registry.go_on.set()
    here, there = await enter(context, bare), await enter(context, bare)
    for tab in (here, there):
        tab.tolerated.append("status of 50")
        await tab.go("#/agents")
    await here.page.get_by_role("button", name="Install Amp").click()
    for tab in (here, there):
        card = tab.page.get_by_role("article", name="Amp")
        await expect(card.get_by_role("alert")).to_contain_text("npm could not fetch @ampcode/cli")
        await expect(card.get_by_role("alert")).to_contain_text("503 Service Unavailable")
        await expect(card).to_contain_text("not installed")
    registry.away = False
    registry.serve(executable(tmp_path / "another", "#!/bin/sh\necho another\n"))
    await there.page.get_by_role("button", name="Try again").click()
    for tab in (here, there):
        card = tab.page.get_by_role("article", name="Amp")
        await expect(card.get_by_role("alert")).to_contain_text("bytes where")
        await expect(card.get_by_role("button", name="Try again")).to_be_visible()
        await expect(tab.page.locator(".notice.error")).to_have_count(0)
    registry.serve(Path(amp_binary()))
    await here.page.get_by_role("button", name="Try again").click()
    for tab in (here, there):
        card = tab.page.get_by_role("article", name="Amp")
        await expect(card.get_by_text("installed", exact=True)).to_be_visible()
        await expect(card.get_by_role("alert")).to_have_count(0)
        assert tab.complaints() == []
    assert os.access(tmp_path / "data" / "agents" / "amp" / program.TESTED_VERSION / "amp", os.X_OK)
