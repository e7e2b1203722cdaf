"""axe finds nothing serious in any view, in both themes, wide and narrow; and the keyboard reaches everything."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.inspector.looking import Daemon, Inspector

AXE = Path(__file__).parents[2] / "inspector" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def places(daemon: Daemon, node_tools: Path) -> dict[str, tuple[str, str]]:
    """The address of every view with something in it, and what is there once it is drawn."""
    told = daemon.session("Everything at once", permissionMode="acceptEdits")
    daemon.turn(told, '[reasoning] [tool name=bash command="ls -la /"] [plan] [subagent] [image] [retry delay_ms=10]')
    daemon.turn(
        told, '[diff path=x.py line="def f(): return 1"] [unparsed] # Title\n\n| a |\n|---|\n| 1 |\n\n```py\nx = 1\n```'
    )
    daemon.turn(told, "[crash]")
    asks = daemon.session("Asks", tools=[{"name": "get_weather"}])
    daemon.send(asks, "[ask] [custom]")
    questions = daemon.session("Questions")
    daemon.send(questions, "[question]")
    last = len(daemon.events(told))
    return {
        "home": ("#/", ".session-row"),
        "conversation": (f"#/session/{told}", ".error-box"),
        "asks": (f"#/session/{asks}", ".ask"),
        "question": (f"#/session/{questions}", ".ask"),
        "events": (f"#/session/{told}/events", ".event-row .type"),
        "event": (f"#/session/{told}/events?at={last - 3}", ".sides"),
        "timeline": (f"#/session/{told}/timeline", ".lanes"),
        "inbox": ("#/inbox", ".waiting-ask"),
        "agents": ("#/agents", ".agent"),
    }


def findings(page: Page) -> list[str]:
    """Run in a world of its own, so that the page's policy stays as it is."""
    page.evaluate(AXE.read_text())
    result = page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for violation in result["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(
    chromium: Browser, daemon: Daemon, places: dict[str, tuple[str, str]], scheme: Literal["light", "dark"]
) -> None:
    context = chromium.new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True)
    tab = Inspector(context, daemon).enter()
    found: list[str] = []
    for size in ({"width": 1280, "height": 860}, {"width": 390, "height": 780}):
        tab.page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]
        for name, (place, drawn) in places.items():
            tab.go(place)
            expect(tab.page.locator(drawn).first).to_be_visible()
            found += [f"{name} {size['width']}: {each}" for each in findings(tab.page)]
    tab.page.set_viewport_size({"width": 1280, "height": 860})
    for key, dialog in (("n", "New session"), ("?", "Keyboard")):
        tab.page.keyboard.press(key)
        expect(tab.page.get_by_role("dialog", name=dialog)).to_be_visible()
        found += [f"{dialog}: {each}" for each in findings(tab.page)]
        tab.page.keyboard.press("Escape")
    assert not found, "\n".join(found)
    context.close()


def test_a_narrow_screen_shows_one_thing_at_a_time(
    chromium: Browser, daemon: Daemon, places: dict[str, tuple[str, str]]
) -> None:
    context = chromium.new_context(viewport={"width": 390, "height": 780})
    tab = Inspector(context, daemon).enter()
    expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_visible()
    tab.page.get_by_role("link", name="Everything at once").click()
    expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_hidden()
    expect(tab.log).to_be_visible()
    assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    tab.page.get_by_role("link", name="All sessions").click()
    expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_visible()
    context.close()


def test_less_motion_is_none(chromium: Browser, daemon: Daemon, places: dict[str, tuple[str, str]]) -> None:
    context = chromium.new_context(reduced_motion="reduce")
    tab = Inspector(context, daemon).enter().go(places["asks"][0])
    dot = tab.page.locator(".state.in_progress").first
    expect(dot).to_be_visible()
    assert dot.evaluate("dot => getComputedStyle(dot).animationName") == "none"
    context.close()


def test_the_theme_follows_the_system_until_it_is_chosen(chromium: Browser, daemon: Daemon) -> None:
    context = chromium.new_context(color_scheme="dark")
    tab = Inspector(context, daemon).enter()
    ground = "() => getComputedStyle(document.body).backgroundColor"
    dark = tab.page.evaluate(ground)
    tab.page.keyboard.press("t")
    tab.until(lambda: tab.page.evaluate(ground) != dark)
    tab.page.keyboard.press("t")
    tab.until(lambda: tab.page.evaluate(ground) == dark)
    context.close()
