import fcntl
import runpy
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, sync_playwright

from everyagent.testing.daemon import DaemonProcess
from tests.inspector.browser import browser as find_browser
from tests.inspector.looking import Daemon, Inspector

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built() -> None:
    """The page as its sources are now. Two workers may ask at once; one of them builds."""
    with (ROOT / "inspector" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, ROOT / "inspector" / "build.py", "--fetch-node"], check=True)


@pytest.fixture(scope="session")
def node_tools(built: None) -> Path:
    """A Node with what the page is checked and tested with beside it."""
    build = runpy.run_path(str(ROOT / "inspector" / "build.py"))
    node: Path = build["node"]()
    with (ROOT / "inspector" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ROOT / "inspector" / "node_modules" / "vitest").exists():
            argv = [*build["npm"](node), "ci", "--silent"]
            subprocess.run(argv, cwd=ROOT / "inspector", env=build["environment"](node), check=True)
    return node


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    """Gone after the module: while it lives, its event loop is this thread's, and no other can run."""
    path = find_browser()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def daemon(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder = tmp_path_factory.mktemp("inspected")
    process = DaemonProcess(folder / "data")
    process.start()
    yield Daemon(process, folder)
    process.stop()


@pytest.fixture
def context(chromium: Browser) -> Generator[BrowserContext]:
    """A person's browser: what one test keeps in it, no other sees."""
    context = chromium.new_context(
        viewport={"width": 1280, "height": 860}, permissions=["clipboard-read", "clipboard-write"]
    )
    yield context
    context.close()


@pytest.fixture
def inspector(context: BrowserContext, daemon: Daemon) -> Generator[Inspector]:
    """A tab that has entered. Whatever the test did, the browser had nothing to complain of."""
    tab = Inspector(context, daemon).enter()
    yield tab
    assert tab.complaints() == []
