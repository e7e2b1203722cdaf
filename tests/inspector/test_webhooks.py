"""Webhooks in a real browser: the page with their deliveries, and the page of a link from which a person answers."""

from collections.abc import Generator, Iterator

import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.testing.daemon import DaemonProcess
from tests.inspector.page_driver import Daemon, Inspector
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, receiving


@pytest.fixture(scope="module")
def daemon(built: None, tmp_path_factory: pytest.TempPathFactory) -> Generator[Daemon]:
    folder = tmp_path_factory.mktemp("telling")
    process = DaemonProcess(folder / "data", "--webhook-networks", "127.0.0.0/8")
    process.start()
    yield Daemon(process, folder)
    process.stop()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


async def test_the_page_shows_deliveries_and_continues_a_paused_webhook(
    inspector: Inspector, daemon: Daemon, receiver: Receiver
) -> None:
    asked = {"url": receiver.url("/hook"), "name": "pager", "events": ["turn.ended"]}
    daemon.call("POST", "/webhooks", asked)
    session = daemon.session("Tells somebody")
    daemon.turn(session, "hello")
    wait_until(lambda: len(receiver.received) == 1)
    receiver.behave = lambda received: 410
    daemon.turn(session, "hello again")
    await inspector.page.keyboard.press("g")
    await inspector.page.keyboard.press("w")
    endpoint = inspector.page.get_by_role("region", name="pager")
    await expect(endpoint.get_by_text("paused", exact=True)).to_be_visible()
    await expect(endpoint.get_by_text("It wants no more messages")).to_be_visible()
    rows = endpoint.get_by_role("table").locator("tbody tr")
    await expect(rows).to_have_count(2)
    await expect(rows.nth(0)).to_contain_text("answered 410")
    await expect(rows.nth(1)).to_contain_text("200")
    receiver.behave = lambda received: 200
    await endpoint.get_by_role("button", name="Test").click()
    await expect(inspector.page.get_by_text("The endpoint answered 200.")).to_be_visible()
    await endpoint.get_by_role("button", name="Continue").click()
    await expect(endpoint.get_by_text("active", exact=True)).to_be_visible()
    await expect(rows.nth(0)).to_contain_text("200")
    before = len(receiver.received)
    await rows.nth(1).get_by_role("button", name="Send again after this").click()
    wait_until(lambda: len(receiver.received) > before)
    assert receiver.ids()[-1] == receiver.ids()[1]
    await endpoint.get_by_role("button", name="Remove…").click()
    await inspector.page.get_by_role("dialog").get_by_role("button", name="Remove").click()
    await expect(inspector.page.get_by_role("heading", name="No webhooks yet")).to_be_visible()


async def test_an_ask_is_answered_from_its_link(context: BrowserContext, daemon: Daemon, receiver: Receiver) -> None:
    asked = {"url": receiver.url(), "events": ["permission.requested", "question.requested"], "answerLinks": True}
    webhook = daemon.call("POST", "/webhooks", asked).json()["webhook"]["webhookId"]
    tab = Inspector(await context.new_page(), daemon)
    session = daemon.session("Deploys <script>alert(1)</script>")
    daemon.send(session, "[ask] [question]")
    wait_until(lambda: len(receiver.received) == 1)
    await tab.page.goto(str(receiver.received[0].data["answer_url"]))
    await expect(tab.page.get_by_role("heading", name="The agent asks to use bash")).to_be_visible()
    await expect(tab.page.get_by_text("Deploys <script>alert(1)</script>")).to_be_visible()
    await tab.page.get_by_label("Reason").fill("not on Fridays")
    await tab.page.keyboard.press("Enter")
    await expect(tab.page.get_by_text("You have rejected it")).to_be_visible()
    (resolved,) = daemon.events(session, "types=permission.resolved")
    assert resolved["data"]["message"] == "not on Fridays"  # pyright: ignore[reportIndexIssue]
    wait_until(lambda: len(receiver.received) == 2)
    await tab.page.goto(str(receiver.received[1].data["answer_url"]))
    await tab.page.get_by_role("radio").first.check()
    await tab.page.get_by_role("button", name="Answer").click()
    await expect(tab.page.get_by_text("The agent has your answer")).to_be_visible()
    await tab.page.goto(str(receiver.received[1].data["answer_url"]))
    await expect(tab.page.get_by_role("heading", name="Already answered")).to_be_visible()
    tab.tolerated.append("409")
    assert tab.complaints() == []
    daemon.call("DELETE", f"/webhooks/{webhook}")
