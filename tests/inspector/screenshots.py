"""A picture of every view of the inspector, light and dark, for a person to look at.

python -m tests.inspector.screenshots FOLDER     takes a minute; names begin with the theme
"""

import base64
import sys
import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
from playwright.async_api import Browser, BrowserContext, Locator, async_playwright, expect

from everyagent.agents.amp import program
from everyagent.agents.mock.program import png
from everyagent.testing.daemon import DaemonProcess
from tests.inspector.browser import browser
from tests.inspector.package_registry import PackageRegistry
from tests.inspector.page_driver import Daemon, Inspector, enter, until

WIDE = {"width": 1280, "height": 860}
NARROW = {"width": 390, "height": 780}
SCHEMES = ("light", "dark")
MARKDOWN = """# Findings

The parser drops the **last** line of a file that has no newline at its end. See `parse.py`, and
[the notes](https://example.com/notes).

1. `read()` splits at newlines
2. the rest is *never* flushed

| file | lines | lost |
|---|---|---|
| `a.txt` | 12 | 1 |
| `b.txt` | 40 | 0 |

> It has been so since the first release.

```python
def rest(self) -> str:
    # what is left when the file ends
    return "".join(self._pending)
```
"""
PICTURE = base64.b64encode(png.gradient(160)).decode()
FILES = [
    {"data": PICTURE, "mime": "image/png", "filename": "screen.png"},
    {"data": "aGVsbG8=", "mime": "text/plain", "filename": "notes.txt"},
]
COLOURS = r"printf '\\033[1;32mPASSED\\033[0m 41  \\033[1;31mFAILED\\033[0m 1\\ntests/test_parse.py\\n'; exit 1"


CENTRED = """found => {
    found[0]?.scrollIntoView({ block: "center" });
    return found.length > 0;
}"""


class Gallery:
    """The same tab in both themes, and where the pictures go."""

    def __init__(self, folder: Path, daemon: Daemon, contexts: dict[str, BrowserContext]) -> None:
        self.folder = folder
        self.daemon = daemon
        self.contexts = contexts
        self.tabs: dict[str, Inspector] = {}

    async def enter(self) -> None:
        for scheme, context in self.contexts.items():
            self.tabs[scheme] = await enter(context, self.daemon)

    async def size(self, size: dict[str, int]) -> None:
        for tab in self.tabs.values():
            await tab.page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]

    async def show(self, name: str, place: str, drawn: str, *, keys: str = "", click: str = "", then: str = "") -> None:
        """Go there, wait for `drawn`; press or click what is named, wait for `then`."""
        for scheme, tab in self.tabs.items():
            await tab.go(place)
            await expect(tab.page.locator(drawn).first).to_be_visible()
            for key in keys.split():
                await tab.page.keyboard.press(key)
            if click:
                await tab.page.locator(click).last.click()
            if then:
                await expect(tab.page.locator(then).first).to_be_visible()
            await self.take(scheme, name)

    async def take(self, scheme: str, name: str) -> None:
        page = self.tabs[scheme].page
        await page.evaluate("() => document.fonts.ready.then(() => new Promise(requestAnimationFrame))")
        await page.screenshot(path=self.folder / f"{scheme}-{name}.png")

    async def again(self) -> None:
        """Close every page that was opened."""
        for tab in self.tabs.values():
            await tab.go("#/")
            await tab.page.reload()
            await expect(tab.page.get_by_role("link", name="everyagent")).to_be_visible()


async def gates(folder: Path, contexts: dict[str, BrowserContext], daemon: Daemon) -> None:
    """Before one is in."""
    for scheme, context in contexts.items():
        page = await context.new_page()
        await page.goto(f"{daemon.url}/ui/")
        await expect(page.get_by_label("Token or key")).to_be_visible()
        await page.screenshot(path=folder / f"{scheme}-sign-in.png")
        await page.get_by_label("Token or key").fill("wrong")
        await page.get_by_role("button", name="Sign in").click()
        await expect(page.get_by_role("alert")).to_be_visible()
        await page.screenshot(path=folder / f"{scheme}-sign-in-wrong.png")
        await page.close()


async def nothing_yet(gallery: Gallery) -> None:
    await gallery.show("home-empty", "#/", ".empty pre")
    await gallery.show("inbox-empty", "#/inbox", ".empty")
    await gallery.show("help", "#/inbox", ".empty", keys="?", then="dialog .keys")
    await gallery.again()


def told(daemon: Daemon) -> str:
    """A session with an entry of every kind."""
    made = daemon.session("Find the lost line", permissionMode="acceptEdits", model="mock-large")
    daemon.turn(made, "[reasoning] [tool name=bash command=\"printf 'a.txt\\nb.txt\\n'\"] [mcp] [plan] [subagent]")
    daemon.turn(made, MARKDOWN)
    daemon.turn(made, f'[tool name=bash command="{COLOURS}"] [diff path=parse.py line="    return rest"] [image]')
    daemon.turn(made, '[retry times=1 delay_ms=10] [unparsed] [error code=rate_limited message="Too many requests"]')
    daemon.call("PATCH", f"/sessions/{made}", {"model": "mock-small"})
    daemon.turn(made, "[crash code=3 lines=4]")
    return made


def asked(daemon: Daemon) -> dict[str, str]:
    """A session for each kind of ask."""
    tools = [{"name": "get_weather", "description": "The weather"}]
    asks = {
        "permission": '[ask command="rm -rf build && make all"]',
        "edit": '[diff path=src/parse.py line="    return rest"]',
        "question": "[question]",
        "plan": '[approve plan="1. Keep what is left in `_pending`\\n2. Flush it at the end\\n3. **Test** it"]',
        "tool": '[custom name=get_weather input={"city":"Oslo"}]',
    }
    made = {kind: daemon.session(f"Asks: {kind}", tools=tools) for kind in asks}
    for kind, message in asks.items():
        daemon.send(made[kind], message)
    return made


async def sessions(gallery: Gallery) -> None:
    daemon = gallery.daemon
    made = told(daemon)
    asks = asked(daemon)
    busy = daemon.session("A long errand")
    daemon.send(busy, "[slow seconds=3600 delay=0.5]")
    over = daemon.session("Over and done")
    daemon.call("POST", f"/sessions/{over}/messages/stream", {"message": "Look at these", "attachments": FILES})
    daemon.call("POST", f"/sessions/{over}/terminate")
    daemon.session("Just begun")
    await until(lambda: all(daemon.info(session)["status"] == "waiting" for session in asks.values()))
    await until(lambda: daemon.info(busy)["status"] == "running")
    await gallery.again()
    await pictures(gallery, made, asks, busy)
    await read_only(gallery, made, asks["permission"])
    await gallery.show("conversation-ended", f"#/session/{over}", ".composer-closed")
    await gallery.size(NARROW)
    await gallery.again()
    await gallery.show("narrow-list", "#/", ".session-row")
    await gallery.show("narrow-conversation", f"#/session/{made}", ".error-box")
    await gallery.show("narrow-permission", f"#/session/{asks['permission']}", "[data-reply=once]")
    await gallery.show("narrow-plan", f"#/session/{asks['plan']}", "[data-option]")
    await gallery.show("narrow-event", f"#/session/{made}/events?at=9", ".sides")
    await gallery.show("narrow-timeline", f"#/session/{made}/timeline", ".lanes a")
    await gallery.show("narrow-inbox", "#/inbox", ".waiting-ask")
    await gallery.show("narrow-agents", "#/agents", ".agent")
    await gallery.show("narrow-new", "#/inbox", ".waiting-ask", keys="n", then="dialog .grid")
    await gallery.again()
    await gallery.size(WIDE)


async def pictures(gallery: Gallery, made: str, asks: dict[str, str], busy: str) -> None:
    await gallery.show("home", "#/", ".session-row")
    await gallery.show("conversation-end", f"#/session/{made}", ".error-box")
    for name, drawn in {"reasoning": ".reasoning", "subagent": ".subagent", "markdown": ".markdown table"}.items():
        await seek(gallery, f"conversation-{name}", drawn)
    await seek(gallery, "conversation-colours", "section.tool.failed .fold", opened=True)
    await seek(gallery, "conversation-diff", ".diff")
    await seek(gallery, "conversation-split", '.diff button:text("Side by side")', opened=True)
    await seek(gallery, "conversation-error", ".entry-error")
    for kind, session in asks.items():
        drawn = ".ask button"
        await gallery.show(f"ask-{kind}", f"#/session/{session}", drawn)
    await gallery.show(
        "ask-rejecting", f"#/session/{asks['permission']}", ".ask", keys="x", then='[aria-label="Why not"]'
    )
    await gallery.again()
    await gallery.show("queue", f"#/session/{busy}", ".message.assistant")
    for scheme, tab in gallery.tabs.items():
        await tab.say("Then run the tests, and tell me which of them are slow")
        await expect(tab.page.locator(".queue")).to_be_visible()
        await gallery.take(scheme, "queue")
    await gallery.show("menu", f"#/session/{made}", ".error-box", click=".menu > button", then="[role=menu]")
    await gallery.again()
    await gallery.show("delete", f"#/session/{made}", ".error-box", click=".menu > button", then="[role=menu]")
    for scheme, tab in gallery.tabs.items():
        await tab.page.get_by_role("menuitem", name="Delete…").click()
        await expect(tab.page.get_by_role("dialog")).to_be_visible()
        await gallery.take(scheme, "delete")
    await gallery.again()
    await gallery.show("events", f"#/session/{made}/events", ".event-row .type")
    await gallery.show(
        "events-types", f"#/session/{made}/events", ".event-row .type", click=".event-filters summary", then=".types"
    )
    await gallery.again()
    await gallery.show("event", f"#/session/{made}/events?at=9", ".sides .json")
    await gallery.show("timeline", f"#/session/{made}/timeline", ".lanes a")
    ends = [event["sequence"] for event in gallery.daemon.events(made, "types=turn.ended&limit=100")]
    await gallery.show("timeline-tools", f"#/session/{made}/timeline?at={ends[0]}", ".lanes .tool")
    await gallery.show("timeline-waiting", f"#/session/{asks['permission']}/timeline", ".lanes .human")
    await gallery.show("inbox", "#/inbox", ".waiting-ask")
    await gallery.show("new", "#/inbox", ".waiting-ask", keys="n", then="dialog .grid")
    await gallery.again()
    for scheme, tab in gallery.tabs.items():
        await tab.page.get_by_label("Search all sessions").fill("line")
        await expect(tab.page.locator(".hit").first).to_be_visible()
        await gallery.take(scheme, "search")
    await gallery.again()
    await gallery.show("gone", "#/session/nowhere", ".empty h1")
    await keys(gallery)


async def keys(gallery: Gallery) -> None:
    daemon = gallery.daemon
    daemon.key("ci", "read", "run", workspace="builds", expiresAt=4_000_000_000_000, rate=120, budgetUsd=25)
    daemon.key("alice", "admin", workspace="design")
    gone, _ = daemon.key("an old one", "read")
    daemon.call("DELETE", f"/keys/{gone}")
    await gallery.again()
    await gallery.show("keys", "#/keys", ".records")
    await gallery.show("new-key", "#/keys", ".records", click=".page-header .button", then="dialog .grid")
    for scheme, tab in gallery.tabs.items():
        await tab.page.get_by_label("Name").fill("bob")
        await tab.page.get_by_role("button", name="Make key").click()
        await expect(tab.page.get_by_label("Secret of the key")).to_be_visible()
        await gallery.take(scheme, "new-key-secret")
    await gallery.again()
    await gallery.show("audit", "#/audit", ".records", click='button:text("Verify")', then=".verdict")


async def read_only(gallery: Gallery, session: str, ask: str) -> None:
    """The pages for a key that may only read, and after it was revoked."""
    made, secret = gallery.daemon.key("visitor", "read")
    for tab in gallery.tabs.values():
        await tab.page.get_by_role("button", name="Sign out").click()
        await tab.sign_in(secret)
        await expect(tab.page.get_by_label("Signed in as")).to_contain_text("visitor")
    await gallery.show("read-only", f"#/session/{session}", ".error-box")
    await gallery.show("read-only-ask", f"#/session/{ask}", ".ask")
    gallery.daemon.call("DELETE", f"/keys/{made}")
    for scheme, tab in gallery.tabs.items():
        await expect(tab.page.get_by_role("alert")).to_be_visible()
        await gallery.take(scheme, "sign-in-revoked")
    await gallery.enter()


async def seek(gallery: Gallery, name: str, drawn: str, *, opened: bool = False) -> None:
    """Scroll the conversation up until it is seen."""
    for scheme, tab in gallery.tabs.items():
        found = tab.page.locator(drawn)
        await tab.log.evaluate("log => { log.scrollTop = log.scrollHeight; }")

        async def seen(tab: Inspector = tab, found: Locator = found) -> bool:
            if await found.evaluate_all(CENTRED):
                return True
            await tab.log.evaluate("log => { log.scrollTop -= 300; }")
            return False

        await until(seen)
        if opened:
            await found.first.click()
        await gallery.take(scheme, name)


async def installations(gallery: Gallery, registry: PackageRegistry, folder: Path) -> None:
    await gallery.show("agents", "#/agents", ".agent .abilities, .agent summary")
    (folder / "not-amp").write_bytes(b"\0" * 40_000_000)
    registry.serve(folder / "not-amp")
    await gallery.tabs["light"].page.get_by_role("button", name="Install Amp").click()
    await until(registry.halfway.is_set)
    for scheme, tab in gallery.tabs.items():
        going = tab.page.get_by_role("status", name="Installation of Amp")
        await expect(going).to_contain_text("MB in")
        await going.scroll_into_view_if_needed()
        await gallery.take(scheme, "install")
    registry.go_on.set()
    for scheme, tab in gallery.tabs.items():
        alert = tab.page.get_by_role("article", name="Amp").get_by_role("alert")
        await expect(alert).to_be_visible()
        await alert.scroll_into_view_if_needed()
        await gallery.take(scheme, "install-failed")


async def away(gallery: Gallery) -> None:
    await gallery.show("reconnect", "#/inbox", ".waiting-ask")
    gallery.daemon.process.kill()
    for scheme, tab in gallery.tabs.items():
        await expect(tab.page.locator(".banner")).to_be_visible()
        await gallery.take(scheme, "reconnect")


@asynccontextmanager
async def chromium() -> AsyncGenerator[Browser]:
    async with async_playwright() as playwright:
        made = await playwright.chromium.launch(executable_path=browser(), args=["--no-sandbox"])
        yield made
        await made.close()


async def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        place = Path(scratch)
        (place / "registry").mkdir()
        with PackageRegistry(program.pinned(), place / "registry") as registry:
            environment = {"npm_config_registry": registry.url, "npm_config_noproxy": "127.0.0.1", "HOME": scratch}
            process = DaemonProcess(place / "data", environment=environment)
            process.start()
            try:
                async with chromium() as found:
                    await take_all(found, Daemon(process, place / "work"), registry, folder)
            finally:
                process.stop()


async def take_all(found: Browser, daemon: Daemon, registry: PackageRegistry, folder: Path) -> None:
    contexts = {scheme: await found.new_context(color_scheme=scheme, viewport=WIDE) for scheme in SCHEMES}  # pyright: ignore[reportArgumentType]
    await gates(folder, contexts, daemon)
    gallery = Gallery(folder, daemon, contexts)
    await gallery.enter()
    await nothing_yet(gallery)
    await sessions(gallery)
    await installations(gallery, registry, daemon.folder)
    await away(gallery)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    anyio.run(main, Path(sys.argv[1]))
