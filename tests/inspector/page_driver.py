"""Drives the inspector in a real browser, and a daemon through its API."""

import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import anyio
import httpx2
from playwright.async_api import BrowserContext, ConsoleMessage, Locator, Page, expect

from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.waiting import LIMIT_SECONDS

expect.set_options(timeout=LIMIT_SECONDS * 1000)

#: Takes the options of playwright's `new_context`.
NewContext = Callable[..., Awaitable[BrowserContext]]


class Daemon:
    """A daemon, used through its API while the inspector shows it."""

    def __init__(self, process: DaemonProcess, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self._made = 0

    @property
    def url(self) -> str:
        return self.process.url

    def call(self, method: str, path: str, body: object = None) -> httpx2.Response:
        url = f"{self.url}/v1{path}"
        headers = self.process.headers
        answer = httpx2.request(method, url, json=body, headers=headers, timeout=LIMIT_SECONDS, verify=NO_TLS)
        assert answer.is_success, answer.text
        return answer

    def session(self, title: str, **fields: object) -> str:
        self._made += 1
        directory = self.folder / f"work{self._made}"
        directory.mkdir(parents=True)
        body = {"agent": "mock", "title": title, "directory": str(directory), **fields}
        return self.call("POST", "/sessions", body).json()["sessionId"]

    def turn(self, session: str, message: str) -> None:
        """Sends a message and waits for the end of its turn."""
        self.call("POST", f"/sessions/{session}/messages/stream", {"message": message})

    def send(self, session: str, message: str) -> None:
        self.call("POST", f"/sessions/{session}/messages", {"message": message})

    def key(self, name: str, *scopes: str, **more: object) -> tuple[str, str]:
        """Makes an API key. Returns its id and its secret."""
        made = self.call("POST", "/keys", {"name": name, "scopes": scopes, **more}).json()
        return made["key"]["keyId"], made["secret"]

    def info(self, session: str) -> dict[str, object]:
        return self.call("GET", f"/sessions/{session}").json()

    def events(self, session: str, query: str = "limit=10000") -> list[dict[str, object]]:
        return self.call("GET", f"/sessions/{session}/events?{query}").json()["events"]


class Inspector:
    """One tab. `faults` are errors and warnings of the browser, such as violations of the page's policy."""

    def __init__(self, page: Page, daemon: Daemon) -> None:
        self.page = page
        self.daemon = daemon
        self.faults: list[str] = []
        #: Patterns of faults that a test expects.
        self.tolerated: list[str] = []
        self.page.on("console", self._on_console)
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.faults.append(message.text)

    def complaints(self) -> list[str]:
        return [fault for fault in self.faults if not any(re.search(each, fault) for each in self.tolerated)]

    async def enter(self, token: str = TOKEN) -> None:
        await self.page.goto(f"{self.daemon.url}/ui/#token={token}")
        await expect(self.page.get_by_role("link", name="everyagent")).to_be_visible()

    async def sign_in(self, token: str) -> None:
        """Fills in the sign-in form and sends it."""
        await self.page.get_by_label("Token or key").fill(token)
        await self.page.get_by_role("button", name="Sign in").click()

    async def open(self, session: str, tab: str = "", at: int | None = None) -> None:
        """Opens a session by its address."""
        await self.go(f"#/session/{session}{f'/{tab}' if tab else ''}{f'?at={at}' if at else ''}")

    async def go(self, place: str) -> None:
        await self.page.evaluate("to => { location.hash = to; }", place)

    async def say(self, message: str) -> None:
        """Sends a message and waits until the box is empty."""
        box = self.page.get_by_label("Message", exact=True)
        await box.fill(message)
        await box.press("Enter")
        await expect(box).to_have_value("")

    # -- parts of the page ------------------------------------------------------------------------------------

    @property
    def log(self) -> Locator:
        return self.page.get_by_role("log")

    @property
    def status(self) -> Locator:
        return self.page.locator(".session-header .pill")

    def entries(self, kind: str) -> Locator:
        return self.page.locator(f".entry-{kind}")

    def row(self, session: str) -> Locator:
        return self.page.locator(f'[data-session="{session}"]')


async def enter(context: BrowserContext, daemon: Daemon, token: str = TOKEN) -> Inspector:
    """Opens a new tab and signs in."""
    tab = Inspector(await context.new_page(), daemon)
    await tab.enter(token)
    return tab


async def until(met: Callable[[], bool | Awaitable[bool]]) -> None:
    """Waits for a condition that is not on the page."""
    with anyio.move_on_after(LIMIT_SECONDS):
        while True:
            found = met()
            if found if isinstance(found, bool) else await found:
                return
            await anyio.sleep(0.05)
    raise AssertionError(f"the condition was not met within {LIMIT_SECONDS:.0f} seconds")
