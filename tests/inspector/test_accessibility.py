"""Accessibility: axe in every view, both themes and two widths; keyboard, focus, motion and theme."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.async_api import Page, expect

from tests.inspector.page_driver import Daemon, Inspector, NewContext, enter

AXE = Path(__file__).parents[2] / "inspector" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = {"serious", "critical"}


@pytest.fixture(scope="module")
def places(daemon: Daemon, node_tools: Path) -> dict[str, tuple[str, str]]:
    """The address of every view, and a selector of an element that shows that it is rendered."""
    busy = daemon.session("Everything at once", permissionMode="acceptEdits")
    daemon.turn(busy, '[reasoning] [tool name=bash command="ls -la /"] [plan] [subagent] [image] [retry delay_ms=10]')
    daemon.turn(
        busy, '[diff path=x.py line="def f(): return 1"] [unparsed] # Title\n\n| a |\n|---|\n| 1 |\n\n```py\nx = 1\n```'
    )
    daemon.turn(busy, "[crash]")
    asks = daemon.session("Asks", tools=[{"name": "get_weather"}])
    daemon.send(asks, "[ask] [custom]")
    questions = daemon.session("Questions")
    daemon.send(questions, "[question]")
    last = len(daemon.events(busy))
    daemon.key("ci", "read", "run", workspace="builds", rate=120, budgetUsd=25)
    daemon.call("POST", "/webhooks", {"url": "https://93.184.215.14/", "events": ["budget.reached"]})
    return {
        "home": ("#/", ".session-row"),
        "conversation": (f"#/session/{busy}", ".error-box"),
        "asks": (f"#/session/{asks}", "[data-reply=once]"),
        "question": (f"#/session/{questions}", "[data-option]"),
        "events": (f"#/session/{busy}/events", ".event-row .type"),
        "event": (f"#/session/{busy}/events?at={last - 3}", ".sides"),
        "timeline": (f"#/session/{busy}/timeline", ".lanes"),
        "changes": (f"#/session/{busy}/changes", ".changed-file"),
        "compare": (f"#/compare/{busy}/{asks}", ".compared"),
        "inbox": ("#/inbox", ".waiting-ask"),
        "agents": ("#/agents", ".agent"),
        "usage": ("#/usage", ".records"),
        "keys": ("#/keys", ".records"),
        "webhooks": ("#/webhooks", ".webhook"),
        "audit": ("#/audit", ".records"),
    }


async def findings(page: Page) -> list[str]:
    """Serious findings of axe."""
    await page.evaluate(AXE.read_text())
    result = await page.evaluate("() => axe.run(document, { resultTypes: ['violations'] })")
    return [
        f"{violation['id']}: {node['html'][:160]} {node['failureSummary'][:200]}"
        for violation in result["violations"]
        if violation["impact"] in SERIOUS
        for node in violation["nodes"]
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing_serious(
    new_context: NewContext, daemon: Daemon, places: dict[str, tuple[str, str]], scheme: Literal["light", "dark"]
) -> None:
    tab = await enter(await new_context(color_scheme=scheme, reduced_motion="reduce", bypass_csp=True), daemon)
    found: list[str] = []
    for size in ({"width": 1280, "height": 860}, {"width": 390, "height": 780}):
        await tab.page.set_viewport_size(size)  # pyright: ignore[reportArgumentType]
        for name, (place, drawn) in places.items():
            await tab.go(place)
            await expect(tab.page.locator(drawn).first).to_be_visible()
            found += [f"{name} {size['width']}: {each}" for each in await findings(tab.page)]
    await tab.page.set_viewport_size({"width": 1280, "height": 860})
    for key, dialog in (("n", "New session"), ("?", "Keyboard")):
        await tab.page.keyboard.press(key)
        await expect(tab.page.get_by_role("dialog", name=dialog)).to_be_visible()
        found += [f"{dialog}: {each}" for each in await findings(tab.page)]
        await tab.page.keyboard.press("Escape")
        await expect(tab.page.get_by_role("dialog")).to_have_count(0)
    assert not found, "\n".join(found)


async def test_a_key_typed_right_after_escape_is_not_lost(inspector: Inspector) -> None:
    for _ in range(5):
        await inspector.page.keyboard.press("n")
        await inspector.page.keyboard.press("Escape")
        await inspector.page.keyboard.press("?")
        await expect(inspector.page.get_by_role("dialog", name="Keyboard")).to_be_visible()
        await inspector.page.keyboard.press("Escape")
        await expect(inspector.page.get_by_role("dialog")).to_have_count(0)


async def test_a_dialog_gives_the_focus_back(inspector: Inspector) -> None:
    button = inspector.page.get_by_role("button", name="Keyboard shortcuts")
    for close in ("Escape", "Enter"):
        await button.focus()
        await button.press("Enter")
        dialog = inspector.page.get_by_role("dialog", name="Keyboard")
        await expect(dialog.get_by_role("button", name="Close")).to_be_focused()
        await inspector.page.keyboard.press(close)
        await expect(dialog).to_have_count(0)
        await expect(button).to_be_focused()


async def test_a_narrow_screen_shows_one_thing_at_a_time(
    new_context: NewContext, daemon: Daemon, places: dict[str, tuple[str, str]]
) -> None:
    tab = await enter(await new_context(viewport={"width": 390, "height": 780}), daemon)
    await expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_visible()
    await tab.page.get_by_role("link", name="Everything at once").click()
    await expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_hidden()
    await expect(tab.page.locator(".error-box").first).to_be_visible()
    assert await tab.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    await expect(tab.entries("turn").last).to_be_in_viewport()
    await expect(tab.page.get_by_role("button", name="To the newest")).to_have_count(0)
    await tab.page.get_by_role("link", name="All sessions").click()
    await expect(tab.page.get_by_role("complementary", name="Sessions")).to_be_visible()


async def test_reduced_motion_stops_animations(
    new_context: NewContext, daemon: Daemon, places: dict[str, tuple[str, str]]
) -> None:
    tab = await enter(await new_context(reduced_motion="reduce"), daemon)
    await tab.go(places["asks"][0])
    dot = tab.page.locator(".state.in_progress").first
    await expect(dot).to_be_visible()
    await expect(dot).to_have_css("animation-name", "none")


async def test_the_theme_follows_the_system_until_it_is_chosen(new_context: NewContext, daemon: Daemon) -> None:
    tab = await enter(await new_context(color_scheme="dark"), daemon)
    body = tab.page.locator("body")
    dark = await body.evaluate("body => getComputedStyle(body).backgroundColor")
    await tab.page.keyboard.press("t")
    await expect(body).not_to_have_css("background-color", dark)
    await tab.page.keyboard.press("t")
    await expect(body).to_have_css("background-color", dark)
