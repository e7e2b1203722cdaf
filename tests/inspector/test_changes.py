"""The changes of a session, two sessions side by side, and the limits of a session, in a real browser."""

from playwright.async_api import expect

from tests.inspector.page_driver import Daemon, Inspector, until

EDIT = '[diff path={} line="def greet(): return 1"] [text words=5]'


async def test_all_edits_of_a_session_are_on_one_page(inspector: Inspector, daemon: Daemon) -> None:
    page = inspector.page
    session = daemon.session("Edits", permissionMode="acceptEdits")
    await inspector.open(session, "changes")
    await expect(page.get_by_role("heading", name="No file was edited")).to_be_visible()
    daemon.turn(session, EDIT.format("greeting.py"))
    await expect(page.get_by_text("1 file, 1 edit")).to_be_visible()
    daemon.turn(session, EDIT.format("greeting.py"))
    daemon.turn(session, EDIT.format("farewell.py"))
    await expect(page.get_by_text("2 files, 3 edits")).to_be_visible()
    await expect(page.get_by_role("region", name="greeting.py", exact=True).get_by_role("figure")).to_have_count(2)
    await expect(page.locator(".changes td.added").first).to_contain_text("def greet()")
    await page.keyboard.press("1")
    await page.keyboard.press("4")
    await expect(page.get_by_text("2 files, 3 edits")).to_be_visible()


async def test_two_sessions_are_compared_side_by_side(inspector: Inspector, daemon: Daemon) -> None:
    page = inspector.page
    left = daemon.session("The left one", permissionMode="acceptEdits", model="mock-large")
    right = daemon.session("The right one", model="mock-small")
    daemon.turn(left, EDIT.format("greeting.py"))
    daemon.turn(right, "hello")
    daemon.turn(right, "hello again")
    await inspector.open(left)
    await page.get_by_role("button", name="What to do with this session").click()
    await page.get_by_role("menuitem", name="Compare with…").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Session").select_option(right)
    await dialog.get_by_role("button", name="Compare").click()
    sides = page.locator(".compare > section")
    await expect(sides.nth(0)).to_contain_text("1 file, 1 edit")
    await expect(sides.nth(0)).to_contain_text("mock-large")
    await expect(sides.nth(0).get_by_role("figure")).to_have_count(1)
    await expect(sides.nth(1)).to_contain_text("mock-small")
    await expect(sides.nth(1).locator("dd").nth(3)).to_have_text("2")
    await expect(sides.nth(1)).to_contain_text("No file was edited")


async def test_budgets_and_deadlines_are_shown_given_and_changed(inspector: Inspector, daemon: Daemon) -> None:
    inspector.tolerated.append("400")  # a limit that the daemon refuses
    page = inspector.page
    await page.keyboard.press("n")
    dialog = page.get_by_role("dialog", name="New session")
    await dialog.get_by_role("radio", name="mock").check()
    await dialog.get_by_text("isolation, budgets").click()
    await dialog.get_by_label("Budget in USD").fill("lots")
    await dialog.get_by_role("button", name="Start session").click()
    await expect(dialog.get_by_text("“lots” is no number.")).to_be_visible()
    await dialog.get_by_label("Budget in USD").fill("2.5")
    await dialog.get_by_label("Seconds to wait for an answer").fill("90")
    await dialog.get_by_label("Its answer to a permission").select_option("allow")
    await dialog.get_by_label("Title").fill("Limited")
    await dialog.get_by_role("button", name="Start session").click()
    header = page.locator(".session-header")
    await expect(header).to_contain_text("budget $2.50")
    await expect(header).to_contain_text("waits 1 m 30 s for answers")
    session = page.url.rpartition("/")[2]
    info = daemon.info(session)
    assert (info["budgetUsd"], info["askTimeout"]) == (2.5, {"seconds": 90.0, "permission": "allow"})
    await page.get_by_role("button", name="What to do with this session").click()
    await page.get_by_role("menuitem", name="Limits…").click()
    limits = page.get_by_role("dialog", name="Limits")
    await limits.get_by_label("Budget in USD").fill("")
    await limits.get_by_label("Budget in tokens").fill("-1")
    await limits.get_by_role("button", name="Save").click()
    await expect(limits.get_by_role("alert")).to_be_visible()
    await limits.get_by_label("Budget in tokens").fill("5000")
    await limits.get_by_label("Seconds to wait for an answer").fill("")
    await limits.get_by_role("button", name="Save").click()
    await expect(header).to_contain_text("budget 5,000 tokens")
    await until(lambda: daemon.info(session).get("askTimeout") is None)
    assert daemon.info(session)["budgetUsd"] is None
