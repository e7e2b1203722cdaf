import fcntl
import runpy
import subprocess
import sys
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
from playwright.async_api import Browser, BrowserContext, async_playwright

from everyagent.testing.daemon import DaemonProcess
from tests.inspector.browser import browser as find_browser
from tests.inspector.page_driver import LIMIT_SECONDS, Daemon, Inspector, NewContext, enter

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def built() -> None:
    """Builds the page. With two workers, one waits for the other."""
    with (ROOT / "inspector" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        subprocess.run([sys.executable, ROOT / "inspector" / "build.py", "--fetch-node"], check=True)


@pytest.fixture(scope="session")
def node_tools(built: None) -> Path:
    """The path of Node, after the page's development packages were installed."""
    build = runpy.run_path(str(ROOT / "inspector" / "build.py"))
    node: Path = build["node"]()
    with (ROOT / "inspector" / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (ROOT / "inspector" / "node_modules" / "vitest").exists():
            argv = [*build["npm"](node), "ci", "--silent"]
            subprocess.run(argv, cwd=ROOT / "inspector", env=build["environment"](node), check=True)
    return node


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def browser_path() -> str:
    return find_browser()


@pytest.fixture(scope="module")
async def chromium(browser_path: str) -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        yield browser
        await browser.close()


@pytest.fixture(scope="module")
def daemon(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder = tmp_path_factory.mktemp("inspected")
    process = DaemonProcess(folder / "data")
    process.start()
    yield Daemon(process, folder)
    process.stop()


@pytest.fixture
async def new_context(chromium: Browser) -> AsyncGenerator[NewContext]:
    """Makes browser contexts, which share no storage, and closes them after the test."""
    made: list[BrowserContext] = []

    async def new(**options: object) -> BrowserContext:
        chosen = {
            "viewport": {"width": 1280, "height": 860},
            "permissions": ["clipboard-read", "clipboard-write"],
            **options,
        }
        context = await chromium.new_context(**chosen)  # pyright: ignore[reportArgumentType]
        context.set_default_timeout(LIMIT_SECONDS * 1000)
        made.append(context)
        return context

    yield new
    for context in made:
        await context.close()


@pytest.fixture
async def context(new_context: NewContext) -> BrowserContext:
    return await new_context()


@pytest.fixture
async def inspector(context: BrowserContext, daemon: Daemon) -> AsyncGenerator[Inspector]:
    """A tab that is logged in. After the test the browser must have reported no errors."""
    tab = await enter(context, daemon)
    yield tab
    assert tab.complaints() == []
