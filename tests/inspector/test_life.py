"""The page's own life: how it gets in, many tabs, and a daemon that goes away and comes back."""

from pathlib import Path

import httpx2
import pytest
from playwright.sync_api import Browser, BrowserContext, expect

from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.inspector.looking import Daemon, Inspector


def test_the_token_leaves_the_address_bar_and_history(context: BrowserContext, daemon: Daemon) -> None:
    tab = Inspector(context, daemon)
    asked: list[str] = []
    tab.page.on("request", lambda request: asked.append(request.url))
    tab.page.goto("about:blank")
    tab.enter()
    assert tab.page.url == f"{daemon.url}/ui/"
    assert TOKEN not in tab.page.evaluate("() => JSON.stringify(history.state) + location.href + document.referrer")
    assert not [url for url in asked if TOKEN in url]
    assert not [url for url in asked if not url.startswith(daemon.url) and url != "about:blank"]
    tab.page.go_back()
    assert tab.page.url == "about:blank"


def test_without_a_token_the_page_says_how_to_get_in(context: BrowserContext, daemon: Daemon) -> None:
    tab = Inspector(context, daemon)
    tab.page.goto(f"{daemon.url}/ui/")
    expect(tab.page.get_by_text("This daemon wants its token.")).to_be_visible()
    tab.page.get_by_label("Token").fill("wrong")
    tab.page.get_by_role("button", name="Connect").click()
    expect(tab.page.get_by_text("does not take the token")).to_be_visible()
    tab.page.get_by_label("Token").fill(TOKEN)
    tab.page.get_by_role("button", name="Connect").click()
    expect(tab.page.get_by_role("navigation", name="Places")).to_be_visible()


def test_many_tabs_share_one_stream(context: BrowserContext, daemon: Daemon) -> None:
    sessions = [daemon.session(f"Tab {number}") for number in range(8)]
    tabs = [Inspector(context, daemon).enter().open(session) for session in sessions]
    for tab, session in zip(tabs, sessions, strict=True):
        expect(tab.status).to_be_visible()
        daemon.send(session, f"words for {session}")
    for tab, session in zip(tabs, sessions, strict=True):
        expect(tab.page.locator(".message.assistant")).to_contain_text(f"words for {session}")
    metrics = httpx2.get(f"{daemon.url}/metrics", headers=daemon.process.headers).text
    assert "everyagent_sse_readers 1\n" in metrics.replace(".0\n", "\n")
    assert [tab.complaints() for tab in tabs] == [[]] * len(tabs)


def test_two_tabs_on_one_session_see_and_answer_the_same(context: BrowserContext, daemon: Daemon) -> None:
    session = daemon.session("Shared")
    one, two = (Inspector(context, daemon).enter().open(session) for _ in range(2))
    one.say("[ask]")
    expect(two.page.locator("[data-ask]")).to_be_visible()
    two.page.get_by_role("button", name="Allow once").click()
    expect(one.entries("ask")).to_contain_text("Allowed")
    for tab in (one, two):
        expect(tab.entries("turn")).to_contain_text("Done")


def test_without_shared_workers_a_tab_has_a_stream_of_its_own(chromium: Browser, daemon: Daemon) -> None:
    context = chromium.new_context()
    context.add_init_script("delete window.SharedWorker;")
    tab = Inspector(context, daemon).enter()
    session = daemon.session("Alone")
    tab.open(session).say("[text words=20]")
    expect(tab.entries("turn")).to_contain_text("Done")
    assert tab.complaints() == []
    context.close()


@pytest.fixture
def mortal(tmp_path: Path) -> DaemonProcess:
    return DaemonProcess(tmp_path / "data")


def test_it_reconnects_after_kill_9_and_shows_all_that_happened(
    context: BrowserContext, built: None, mortal: DaemonProcess, tmp_path: Path
) -> None:
    mortal.start()
    try:
        daemon = Daemon(mortal, tmp_path)
        session, other = daemon.session("Survivor"), daemon.session("Other")
        tab = Inspector(context, daemon)
        tab.tolerated += ["Failed to load resource", "ERR_"]
        tab.enter().open(session).say("[slow seconds=600]")
        expect(tab.page.locator(".message.assistant")).to_contain_text("the quick")
        for _ in range(2):
            port = mortal.port
            mortal.kill()
            expect(tab.page.get_by_text("No connection to the daemon.")).to_be_visible()
            mortal.start(port=port)
            expect(tab.page.get_by_text("No connection to the daemon.")).to_have_count(0)
        expect(tab.entries("turn").last).to_contain_text("Ended in an error")
        tab.say("[hello]")
        expect(tab.log).to_contain_text("Hello! I am the mock agent.")
        daemon.call("PATCH", f"/sessions/{other}", {"title": "Renamed since"})
        expect(tab.row(other)).to_contain_text("Renamed since")
        shown = tab.page.evaluate("() => [...document.querySelectorAll('.entry-turn')].length")
        ended = [event for event in daemon.events(session) if event["type"] == "turn.ended"]
        assert shown == len(ended) == 2
        assert tab.complaints() == []
    finally:
        mortal.stop()
