"""Signing in with API keys: who one is, what a key is offered, the pages of keys and audit, and the end of a key."""

import time
from collections.abc import AsyncIterator

import pytest
from playwright.async_api import BrowserContext, expect

from everyagent.testing.daemon import TOKEN
from tests.inspector.page_driver import Daemon, Inspector, NewContext, enter


@pytest.fixture(scope="module")
def waiting(daemon: Daemon) -> str:
    """A session with an open permission request, a question and a call of a custom tool."""
    session = daemon.session("Waits for an answer", tools=[{"name": "get_weather"}])
    daemon.send(session, "[ask] [custom] [question]")
    return session


@pytest.fixture
async def reader(context: BrowserContext, daemon: Daemon) -> AsyncIterator[Inspector]:
    """A tab whose key may only read."""
    _, secret = daemon.key("visitor", "read")
    tab = await enter(context, daemon, secret)
    yield tab
    assert tab.complaints() == []


async def test_a_key_signs_in_and_the_page_says_who_it_is(context: BrowserContext, daemon: Daemon) -> None:
    ends = int(time.time() * 1000) + 86_400_000
    _, secret = daemon.key("ci", "read", "run", workspace="builds", expiresAt=ends)
    tab = Inspector(await context.new_page(), daemon)
    await tab.page.goto(f"{daemon.url}/ui/")
    await tab.sign_in(secret)
    me = tab.page.get_by_label("Signed in as")
    await expect(me).to_contain_text("ci")
    await expect(me).to_contain_text("builds · read, run")
    await tab.page.reload()
    await expect(me).to_contain_text("builds")


async def test_a_key_sees_the_sessions_of_its_workspace_only(context: BrowserContext, daemon: Daemon) -> None:
    foreign = daemon.session("Of the owner")
    _, secret = daemon.key("elsewhere", "read", "run", workspace="elsewhere")
    tab = await enter(context, daemon, secret)
    await expect(tab.page.get_by_text("No sessions yet.")).to_be_visible()
    daemon.turn(foreign, "seen by the owner only")
    await tab.open(foreign)
    await expect(tab.page.get_by_role("heading", name="This session is gone")).to_be_visible()
    await expect(tab.row(foreign)).to_have_count(0)


async def test_a_key_that_may_only_read_is_offered_nothing_else(
    reader: Inspector, daemon: Daemon, waiting: str
) -> None:
    page = reader.page
    await expect(reader.row(waiting)).to_be_visible()
    await page.keyboard.press("n")
    await page.keyboard.press("?")
    help_dialog = page.get_by_role("dialog", name="Keyboard")
    await expect(help_dialog).to_contain_text("Inbox")
    assert "Allow once" not in await help_dialog.inner_text()
    await page.keyboard.press("Escape")
    await reader.open(waiting)
    await expect(page.get_by_role("article", name="owner said")).to_be_visible()
    await expect(page.get_by_text("Your key may read this session, but not send messages.")).to_be_visible()
    await expect(page.get_by_text("Your key may not answer this.").first).to_be_visible()
    await page.get_by_role("button", name="What to do with this session").click()
    offered = await page.get_by_role("menuitem").all_inner_texts()
    assert offered == ["Compare with…", "Export as Markdown", "Export as HTML", "Export as JSON lines"]
    await page.keyboard.press("Escape")
    for place in ("#/", "#/inbox", "#/agents", "#/usage", f"#/session/{waiting}"):
        await reader.go(place)
        await expect(page.get_by_role("navigation", name="Places")).to_be_visible()
        for name in ("New session", "Send", "Allow once", "Answer", "Send result", "Install"):
            await expect(page.get_by_role("button", name=name)).to_have_count(0)
    places = page.get_by_role("navigation", name="Places")
    assert [(await each.inner_text()).split("\n")[0].strip() for each in await places.get_by_role("link").all()] == [
        "Inbox",
        "Agents",
        "Usage",
    ]
    await reader.go("#/keys")
    await expect(page.get_by_role("heading", name="Your key may not do this")).to_be_visible()


async def test_a_key_that_may_answer_answers_but_does_not_send(context: BrowserContext, daemon: Daemon) -> None:
    session = daemon.session("Answered by a key")
    daemon.send(session, "[ask]")
    key_id, secret = daemon.key("reviewer", "read", "answer")
    tab = await enter(context, daemon, secret)
    await tab.go("#/inbox")
    ask = tab.page.get_by_role("region", name="Answered by a key")
    await ask.get_by_role("button", name="Allow once").click()
    await expect(ask).to_have_count(0)
    resolved = daemon.events(session, "types=permission.resolved")
    assert [event["actor"] for event in resolved] == [{"key_id": key_id, "name": "reviewer"}]
    await tab.open(session)
    await expect(tab.page.get_by_text("not send messages")).to_be_visible()


async def test_a_key_that_may_run_sends_but_does_not_answer(context: BrowserContext, daemon: Daemon) -> None:
    session = daemon.session("Sent by a key")
    _, secret = daemon.key("sender", "read", "run")
    tab = await enter(context, daemon, secret)
    await tab.open(session)
    await tab.say("[ask]")
    await expect(tab.page.get_by_text("Your key may not answer this.")).to_be_visible()
    await expect(tab.page.get_by_role("button", name="Allow once")).to_have_count(0)
    await expect(tab.page.get_by_role("button", name="Stop")).to_be_visible()


async def test_keys_are_made_shown_once_listed_and_revoked(
    inspector: Inspector, new_context: NewContext, daemon: Daemon
) -> None:
    page = inspector.page
    await page.get_by_role("link", name="Keys").click()
    await page.get_by_role("button", name="New key").click()
    form = page.get_by_role("dialog", name="New key")
    await form.get_by_label("Name").fill("made in the page")
    await form.get_by_label("run").check()
    await form.get_by_label("Workspace").fill("design")
    await form.get_by_label("Ends").select_option(label="In 7 days")
    await form.get_by_label("Requests a minute").fill("600")
    await form.get_by_label("Budget in USD").fill("2.5")
    await form.get_by_role("button", name="Make key").click()
    secret = await page.get_by_label("Secret of the key").inner_text()
    await page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row").filter(has_text="made in the page")
    for text in ("design", "read", "run", "600 a minute", "$0 of $2.50", "valid"):
        await expect(row).to_contain_text(text)
    made = next(key for key in daemon.call("GET", "/keys").json()["keys"] if key["name"] == "made in the page")
    assert (made["workspace"], made["scopes"], made["rate"], made["budgetUsd"]) == ("design", ["read", "run"], 600, 2.5)
    assert 6.9 < (made["expiresAt"] / 1000 - time.time()) / 86_400 < 7.1
    assert secret not in await page.content()
    other = await enter(await new_context(), daemon, secret)
    await expect(other.page.get_by_label("Signed in as")).to_contain_text("design")
    await row.get_by_role("button", name="Revoke").click()
    await page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    await expect(row).to_contain_text("revoked")
    alert = other.page.get_by_role("alert")
    await expect(alert).to_have_text("You are signed out: the key “made in the page” was revoked.")
    await other.page.reload()
    await expect(alert).to_have_text("The key of this browser is wrong, revoked or expired.")
    await other.sign_in(TOKEN)
    await expect(other.page.get_by_label("Signed in as")).to_contain_text("all workspaces")


async def test_an_admin_of_a_workspace_makes_keys_for_it_only(context: BrowserContext, daemon: Daemon) -> None:
    _, secret = daemon.key("lead", "admin", workspace="team")
    tab = await enter(context, daemon, secret)
    await tab.go("#/keys")
    await expect(tab.page.get_by_role("row")).to_have_count(2)
    await tab.page.get_by_role("button", name="New key").click()
    await expect(tab.page.get_by_label("Workspace")).to_have_value("team")
    await expect(tab.page.get_by_label("Workspace")).to_be_disabled()
    await tab.page.get_by_label("Name").fill("member")
    await tab.page.get_by_role("button", name="Make key").click()
    await expect(tab.page.get_by_label("Secret of the key")).to_contain_text("eak_")
    await tab.page.get_by_role("button", name="Done").click()
    await tab.go("#/audit")
    trail = tab.page.get_by_role("table", name="Audit trail")
    await expect(trail.get_by_role("row")).to_have_count(2)
    await expect(trail).to_contain_text("POST /v1/keys")
    await expect(tab.page.get_by_role("button", name="Verify")).to_have_count(0)


async def test_the_audit_page_lists_filters_and_verifies(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Audited")
    key_id, _ = daemon.key("auditee", "read")
    await inspector.go("#/audit")
    trail = inspector.page.get_by_role("table", name="Audit trail")
    await expect(trail).to_contain_text("POST /v1/keys")
    await inspector.page.get_by_label("Session id").fill(session)
    await inspector.page.keyboard.press("Enter")
    await expect(trail.get_by_role("row")).to_have_count(2)
    await inspector.page.get_by_label("Key", exact=True).select_option(key_id)
    await expect(inspector.page.get_by_role("heading", name="Nothing here")).to_be_visible()
    await inspector.page.get_by_role("button", name="Verify").click()
    state = daemon.call("GET", "/audit/verify").json()
    await expect(inspector.page.get_by_role("status").filter(has_text="is intact")).to_contain_text(state["digest"])


async def test_an_expired_key_leads_back_to_the_sign_in(context: BrowserContext, daemon: Daemon) -> None:
    _, secret = daemon.key("short", "read", expiresAt=int(time.time() * 1000) + 4000)
    tab = await enter(context, daemon, secret)
    await expect(tab.page.get_by_role("alert")).to_have_text("You are signed out: the key “short” has expired.")


async def test_a_key_that_may_not_read_cannot_sign_in(context: BrowserContext, daemon: Daemon) -> None:
    _, secret = daemon.key("blind", "run")
    tab = Inspector(await context.new_page(), daemon)
    await tab.page.goto(f"{daemon.url}/ui/")
    await tab.sign_in(secret)
    await expect(tab.page.get_by_role("alert")).to_contain_text("does not have the scope read")
    assert secret not in await tab.page.evaluate("() => JSON.stringify(localStorage)")


async def test_signing_out_signs_out_every_tab_and_forgets_the_key(
    context: BrowserContext, daemon: Daemon, waiting: str
) -> None:
    one, two = await enter(context, daemon), await enter(context, daemon)
    await one.open(waiting)
    await two.page.get_by_role("button", name="Sign out").click()
    for tab in (one, two):
        await expect(tab.page.get_by_label("Token or key")).to_be_visible()
        assert TOKEN not in await tab.page.evaluate("() => JSON.stringify(localStorage) + document.body.innerHTML")
