"""The page that sums usage, in a real browser."""

from playwright.async_api import expect

from tests.inspector.page_driver import Daemon, Inspector


async def test_usage_is_summed_by_what_one_chooses(inspector: Inspector, daemon: Daemon) -> None:
    page = inspector.page
    await inspector.go("#/usage")
    await expect(page.get_by_role("heading", name="Nothing used")).to_be_visible()
    large = daemon.session("A large one", model="mock-large")
    daemon.turn(large, "[text words=50] hello")
    daemon.turn(large, "[text words=50] again")
    daemon.turn(daemon.session("A small one", model="mock-small"), "[text words=5] hello")
    await inspector.go("#/")
    await page.keyboard.press("g")
    await page.keyboard.press("s")
    table = page.get_by_role("table", name="Usage")
    total = table.locator("tfoot tr")
    await expect(total).to_contain_text("$")
    assert (await total.locator("td").all_inner_texts())[3:5] == ["3", "2"]
    await page.get_by_label("By").select_option("model")
    rows = table.locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0).get_by_role("rowheader")).to_have_text("mock-large")
    await page.get_by_label("Days").select_option("Today")
    await page.get_by_label("By").select_option("key")
    await expect(rows.get_by_role("rowheader")).to_have_text(["owner"])
    await page.get_by_label("By").select_option("session")
    await rows.get_by_role("link", name="A large one").click()
    await expect(inspector.log).to_contain_text("again")
