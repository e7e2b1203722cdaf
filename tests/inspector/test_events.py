"""The event list with filters and native frames, and the timeline of a turn."""

import json
import re

import pytest
from playwright.async_api import Page, expect

from tests.inspector.page_driver import Daemon, Inspector, until


@pytest.fixture(scope="module")
def session(daemon: Daemon) -> str:
    made = daemon.session("Watched", permissionMode="acceptEdits")
    daemon.turn(made, '[reasoning] [tool name=bash command="echo findable"] [retry times=1 delay_ms=50] [unparsed]')
    return made


async def copied(page: Page) -> str:
    return await page.evaluate("() => navigator.clipboard.readText()")


async def test_every_event_is_listed_with_its_source(inspector: Inspector, daemon: Daemon, session: str) -> None:
    await inspector.open(session, "events", 1)
    table = inspector.page.get_by_role("table", name="Events")
    first = table.get_by_role("row").nth(1)
    await expect(first).to_contain_text("session.started")
    await expect(first).to_contain_text("daemon")
    await expect(first).to_contain_text("synthetic")
    await expect(table).to_have_attribute("aria-rowcount", str(len(daemon.events(session))))


async def test_events_of_every_type_have_aligned_columns(inspector: Inspector, session: str) -> None:
    await inspector.open(session, "events")
    types = inspector.page.locator(".event-row:not(.head) .type")
    await expect(types.filter(has_text="agent.unparsed").first).to_be_visible()
    lefts = await types.evaluate_all("cells => cells.map(cell => cell.getBoundingClientRect().left)")
    assert len(lefts) > 5
    assert len(set(lefts)) == 1


async def test_an_event_is_beside_its_frame_and_links_to_its_place(
    inspector: Inspector, daemon: Daemon, session: str
) -> None:
    delta = next(
        event for event in daemon.events(session) if event["type"] == "item.delta" and event["source"] == "agent"
    )
    await inspector.open(session, "events", int(str(delta["sequence"])))
    await expect(inspector.page.get_by_label("Universal event", exact=True)).to_contain_text(str(delta["event_id"]))
    await expect(inspector.page.get_by_label("Native frame", exact=True)).to_contain_text('"type": "reasoning"')
    await inspector.page.get_by_role("button", name="JSON").click()
    await inspector.page.get_by_role("button", name="Copied").wait_for()
    assert json.loads(await copied(inspector.page))["sequence"] == delta["sequence"]
    await inspector.page.get_by_role("button", name="curl").click()
    await inspector.page.wait_for_function("() => navigator.clipboard.readText().then(text => text.startsWith('curl'))")
    assert f"offset={int(str(delta['sequence'])) - 1}&limit=1&include_raw=true" in await copied(inspector.page)
    assert "everyagent token" in await copied(inspector.page)
    await inspector.page.get_by_role("link", name="In conversation").click()
    await expect(inspector.page.locator(".entry.highlighted")).to_contain_text("so I think.")
    await inspector.page.locator(".entry.highlighted .place").click()
    await expect(inspector.page.get_by_role("region", name=re.compile("^Event "))).to_be_visible()


async def test_events_are_filtered_by_type_and_text(inspector: Inspector, session: str) -> None:
    await inspector.open(session, "events")
    await inspector.page.get_by_label("Text in events").fill("FINDABLE")
    rows = inspector.page.get_by_role("rowgroup").get_by_role("row")
    await expect(inspector.page.locator(".event-filters")).to_contain_text("found, newest first")
    await expect(rows.first).to_contain_text("findable")
    await inspector.page.get_by_text("All types").first.click()
    await inspector.page.get_by_role("checkbox", name="item.completed").check()
    await expect(rows.filter(has_not_text="item.completed")).to_have_count(0)
    await expect(rows.first).to_contain_text("findable")
    await inspector.page.get_by_label("Text in events").fill("")
    await inspector.page.get_by_role("checkbox", name="item.completed").uncheck()
    await inspector.page.get_by_role("checkbox", name="agent.unparsed").check()
    await expect(rows).to_have_count(2)


async def test_arrows_move_through_events_and_new_ones_come_in(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Grows")
    daemon.turn(session, "[hello]")
    await inspector.open(session, "events", 3)
    detail = inspector.page.get_by_role("region", name=re.compile("^Event "))
    await expect(detail).to_contain_text("#3")
    await expect(inspector.page.locator(".event-row.chosen")).to_be_visible()
    await inspector.page.get_by_role("rowgroup").focus()
    await inspector.page.keyboard.press("ArrowDown")
    await expect(detail).to_contain_text("#4")
    table = inspector.page.get_by_role("table", name="Events")
    before = await table.get_attribute("aria-rowcount")
    daemon.turn(session, "[hello]")

    async def all_are_listed() -> bool:
        return await table.get_attribute("aria-rowcount") == str(len(daemon.events(session)))

    await until(all_are_listed)
    assert await table.get_attribute("aria-rowcount") != before


async def test_a_turn_is_drawn_on_a_time_axis(inspector: Inspector, session: str) -> None:
    await inspector.open(session, "timeline")
    lanes = inspector.page.get_by_role("list", name="What happened in this turn")
    for words in ("Model: thinks and writes", "Tools: bash", "Retries: retry 1: overloaded"):
        await expect(lanes.get_by_role("link", name=re.compile(words))).to_be_visible()
    tool = lanes.get_by_role("link", name=re.compile("Tools: bash"))
    await tool.click()
    await expect(inspector.page.locator(".entry.highlighted")).to_contain_text("bash")


async def test_every_label_of_a_turn_is_whole_on_a_phone(inspector: Inspector, session: str) -> None:
    await inspector.page.set_viewport_size({"width": 390, "height": 780})
    await inspector.open(session, "timeline")
    labels = inspector.page.locator(".lanes .label")
    await expect(labels.filter(has_text="retry 1: overloaded")).to_be_visible()
    cut = "all => all.filter(each => each.scrollWidth > each.clientWidth).map(each => each.textContent)"
    assert await labels.evaluate_all(cut) == []


async def test_waiting_for_a_human_is_a_part_of_the_turn(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Waits")
    daemon.send(session, '[ask command="echo x"]')
    await until(lambda: daemon.info(session)["status"] == "waiting")
    await inspector.open(session, "timeline")
    lane = inspector.page.get_by_role("link", name=re.compile("Waiting for a human: permission: bash: echo x"))
    await expect(lane).to_be_visible()
    await expect(inspector.page.locator(".shares .human")).to_be_visible()
