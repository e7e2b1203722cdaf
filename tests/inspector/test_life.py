"""Login, several tabs, and reconnecting after a restart of the daemon."""

from pathlib import Path

import httpx2
import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.inspector.page_driver import LIMIT_SECONDS, Daemon, Inspector, enter, until


async def test_the_token_leaves_the_address_bar_and_history(context: BrowserContext, daemon: Daemon) -> None:
    tab = Inspector(await context.new_page(), daemon)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    await tab.page.goto("about:blank")
    await tab.enter()
    assert tab.page.url == f"{daemon.url}/ui/"
    left = await tab.page.evaluate("() => JSON.stringify(history.state) + location.href + document.referrer")
    assert TOKEN not in left
    assert not [url for url in asked if TOKEN in url]
    assert not [url for url in asked if not url.startswith(daemon.url) and url != "about:blank"]
    await tab.page.go_back()
    assert tab.page.url == "about:blank"


async def test_without_a_token_the_page_asks_for_it(context: BrowserContext, daemon: Daemon) -> None:
    tab = Inspector(await context.new_page(), daemon)
    await tab.page.goto(f"{daemon.url}/ui/")
    await expect(tab.page.get_by_label("Token or key")).to_be_focused()
    await expect(tab.page.get_by_role("alert")).to_have_count(0)
    await tab.sign_in("wrong")
    await expect(tab.page.get_by_role("alert")).to_contain_text("The token is wrong, revoked or expired.")
    await tab.sign_in(TOKEN)
    await expect(tab.page.get_by_role("navigation", name="Places")).to_be_visible()


async def test_many_tabs_share_one_stream(context: BrowserContext, daemon: Daemon) -> None:
    sessions = [daemon.session(f"Tab {number}") for number in range(8)]
    tabs = [await enter(context, daemon) for _ in sessions]
    for tab, session in zip(tabs, sessions, strict=True):
        await tab.open(session)
        await expect(tab.status).to_be_visible()
        daemon.send(session, f"words for {session}")
    for tab, session in zip(tabs, sessions, strict=True):
        await expect(tab.page.locator(".message.assistant")).to_contain_text(f"words for {session}")

    def one_reader() -> bool:
        metrics = httpx2.get(f"{daemon.url}/metrics", headers=daemon.process.headers, timeout=LIMIT_SECONDS).text
        return "everyagent_sse_readers 1\n" in metrics.replace(".0\n", "\n")

    await until(one_reader)
    assert [tab.complaints() for tab in tabs] == [[]] * len(tabs)


async def test_two_tabs_on_one_session_see_and_answer_the_same(context: BrowserContext, daemon: Daemon) -> None:
    session = daemon.session("Shared")
    one, two = await enter(context, daemon), await enter(context, daemon)
    for tab in (one, two):
        await tab.open(session)
    await one.say("[ask]")
    await expect(two.page.locator("[data-ask]")).to_be_visible()
    await two.page.get_by_role("button", name="Allow once").click()
    await expect(one.entries("ask")).to_contain_text("Allowed")
    for tab in (one, two):
        await expect(tab.entries("turn")).to_contain_text("Done")


async def test_without_shared_workers_a_tab_has_a_stream_of_its_own(context: BrowserContext, daemon: Daemon) -> None:
    await context.add_init_script("delete window.SharedWorker;")
    tab = await enter(context, daemon)
    session = daemon.session("Alone")
    await tab.open(session)
    await tab.say("[text words=20]")
    await expect(tab.entries("turn")).to_contain_text("Done")
    assert tab.complaints() == []


@pytest.fixture
def mortal(tmp_path: Path) -> DaemonProcess:
    return DaemonProcess(tmp_path / "data")


async def test_the_page_reconnects_after_kill_9_and_shows_all_events(
    context: BrowserContext, built: None, mortal: DaemonProcess, tmp_path: Path
) -> None:
    mortal.start()
    try:
        daemon = Daemon(mortal, tmp_path)
        session, other = daemon.session("Survivor"), daemon.session("Other")
        tab = Inspector(await context.new_page(), daemon)
        tab.tolerated += ["Failed to load resource", "ERR_"]
        await tab.enter()
        await tab.open(session)
        await tab.say("[slow seconds=600]")
        await expect(tab.page.locator(".message.assistant")).to_contain_text("the quick")
        for _ in range(2):
            port = mortal.port
            mortal.kill()
            await expect(tab.page.get_by_text("No connection to the daemon.")).to_be_visible()
            mortal.start(port=port)
            await expect(tab.page.get_by_text("No connection to the daemon.")).to_have_count(0)
        await expect(tab.entries("turn").last).to_contain_text("Ended in an error")
        await tab.say("[hello]")
        await expect(tab.log).to_contain_text("Hello! I am the mock agent.")
        daemon.call("PATCH", f"/sessions/{other}", {"title": "Renamed since"})
        await expect(tab.row(other)).to_contain_text("Renamed since")
        await expect(tab.entries("turn")).to_have_count(2)
        assert len([event for event in daemon.events(session) if event["type"] == "turn.ended"]) == 2
        assert tab.complaints() == []
    finally:
        mortal.stop()
