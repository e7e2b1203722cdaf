"""Events as they are: every one, filtered, beside its native frame; and a turn on its time axis."""

import json
import re

import pytest
from playwright.sync_api import Page, expect

from tests.inspector.looking import Daemon, Inspector


@pytest.fixture(scope="module")
def session(daemon: Daemon) -> str:
    made = daemon.session("Watched", permissionMode="acceptEdits")
    daemon.turn(made, '[reasoning] [tool name=bash command="echo findable"] [retry times=1 delay_ms=50] [unparsed]')
    return made


def copied(page: Page) -> str:
    return page.evaluate("() => navigator.clipboard.readText()")


def test_every_event_is_listed_with_what_made_it(inspector: Inspector, daemon: Daemon, session: str) -> None:
    inspector.open(session, "events", 1)
    table = inspector.page.get_by_role("table", name="Events")
    first = table.get_by_role("row").nth(1)
    expect(first).to_contain_text("session.started")
    expect(first).to_contain_text("daemon")
    expect(first).to_contain_text("synthetic")
    assert table.get_attribute("aria-rowcount") == str(len(daemon.events(session)))


def test_an_event_stands_beside_its_frame_and_leads_to_its_place(
    inspector: Inspector, daemon: Daemon, session: str
) -> None:
    delta = next(
        event for event in daemon.events(session) if event["type"] == "item.delta" and event["source"] == "agent"
    )
    inspector.open(session, "events", int(str(delta["sequence"])))
    expect(inspector.page.get_by_label("Universal event", exact=True)).to_contain_text(str(delta["event_id"]))
    expect(inspector.page.get_by_label("Native frame", exact=True)).to_contain_text('"type": "reasoning"')
    inspector.page.get_by_role("button", name="JSON").click()
    inspector.page.get_by_role("button", name="Copied").wait_for()
    assert json.loads(copied(inspector.page))["sequence"] == delta["sequence"]
    inspector.page.get_by_role("button", name="curl").click()
    inspector.page.wait_for_function("() => navigator.clipboard.readText().then(text => text.startsWith('curl'))")
    assert f"offset={int(str(delta['sequence'])) - 1}&limit=1&include_raw=true" in copied(inspector.page)
    assert "everyagent token" in copied(inspector.page)
    inspector.page.get_by_role("link", name="In conversation").click()
    expect(inspector.page.locator(".entry.highlighted")).to_contain_text("I have thought about it.")
    inspector.page.locator(".entry.highlighted .place").click()
    expect(inspector.page.get_by_role("region", name=re.compile("^Event "))).to_be_visible()


def test_events_are_filtered_by_type_and_text(inspector: Inspector, session: str) -> None:
    inspector.open(session, "events")
    inspector.page.get_by_label("Text in events").fill("FINDABLE")
    rows = inspector.page.get_by_role("rowgroup").get_by_role("row")
    expect(inspector.page.locator(".event-filters")).to_contain_text("found, newest first")
    expect(rows.first).to_contain_text("findable")
    inspector.page.get_by_text("All types").first.click()
    inspector.page.get_by_role("checkbox", name="item.completed").check()
    for row in rows.all():
        expect(row).to_contain_text("item.completed")
    inspector.page.get_by_label("Text in events").fill("")
    inspector.page.get_by_role("checkbox", name="item.completed").uncheck()
    inspector.page.get_by_role("checkbox", name="agent.unparsed").check()
    expect(rows).to_have_count(2)


def test_arrows_move_through_events_and_new_ones_come_in(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Grows")
    daemon.turn(session, "[hello]")
    inspector.open(session, "events", 3)
    detail = inspector.page.get_by_role("region", name=re.compile("^Event "))
    expect(detail).to_contain_text("#3")
    expect(inspector.page.locator(".event-row.chosen")).to_be_visible()
    inspector.page.get_by_role("rowgroup").focus()
    inspector.page.keyboard.press("ArrowDown")
    expect(detail).to_contain_text("#4")
    before = len(daemon.events(session))
    daemon.turn(session, "[hello]")
    expect(inspector.page.get_by_role("table", name="Events")).to_have_attribute(
        "aria-rowcount", str(before + len(daemon.events(session, f"offset={before}")))
    )


def test_a_turn_is_drawn_on_a_time_axis(inspector: Inspector, session: str) -> None:
    inspector.open(session, "timeline")
    lanes = inspector.page.get_by_role("list", name="What happened in this turn")
    for words in ("Model: thinks and writes", "Tools: bash", "Retries: retry 1: overloaded"):
        expect(lanes.get_by_role("link", name=re.compile(words))).to_be_visible()
    tool = lanes.get_by_role("link", name=re.compile("Tools: bash"))
    tool.click()
    expect(inspector.page.locator(".entry.highlighted")).to_contain_text("bash")


def test_waiting_for_a_human_is_a_part_of_the_turn(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Waits")
    daemon.send(session, '[ask command="echo x"]')
    inspector.until(lambda: daemon.info(session)["status"] == "waiting")
    inspector.open(session, "timeline")
    lane = inspector.page.get_by_role("link", name=re.compile("Waiting for a human: permission: bash: echo x"))
    expect(lane).to_be_visible()
    expect(inspector.page.locator(".shares .human")).to_be_visible()
