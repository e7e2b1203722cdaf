"""Permissions, questions and plans, answered in the conversation and in the inbox, by mouse and by keyboard."""

import re

from playwright.async_api import BrowserContext, expect

from tests.inspector.page_driver import Daemon, Inspector, enter, until


async def test_a_permission_shows_what_will_run_and_is_allowed_once(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Asks")
    await inspector.open(session)
    await inspector.say('[ask command="echo it-was-permitted"]')
    card = inspector.page.get_by_role("region", name=re.compile("^Permission wanted"))
    await expect(card.locator("pre").first).to_contain_text("echo it-was-permitted")
    await expect(inspector.status).to_have_text("Waiting for you")
    await expect(inspector.page.get_by_test_id("inbox-badge")).to_contain_text("1")
    await expect(inspector.page).to_have_title("(1) everyagent")
    await card.get_by_role("button", name="Allow once").click()
    await expect(inspector.entries("ask")).to_contain_text("Allowed: bash: echo it-was-permitted")
    await expect(inspector.entries("turn")).to_contain_text("Done")
    await expect(inspector.page).to_have_title("everyagent")


async def test_always_is_not_asked_again(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Always")
    await inspector.open(session)
    await inspector.say("[ask]")
    await expect(inspector.page.locator("[data-ask]")).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("Shift+Y")
    await expect(inspector.entries("turn")).to_have_count(1)
    await inspector.say("[ask]")
    await expect(inspector.entries("turn")).to_have_count(2)
    await expect(inspector.entries("ask")).to_have_count(1)


async def test_a_permission_is_rejected_with_a_reason_by_keyboard(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Rejected")
    await inspector.open(session)
    await inspector.say('[diff path=x.txt line="no"]')
    await expect(inspector.page.locator("[data-ask]")).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("x")
    await expect(inspector.page.get_by_label("Why not")).to_be_focused()
    await inspector.page.keyboard.type("not in this folder")
    await inspector.page.keyboard.press("Enter")
    await expect(inspector.entries("ask")).to_contain_text("Rejected")
    await expect(inspector.log).to_contain_text("rejected: not in this folder")


async def test_questions_accept_one_choice_many_choices_and_free_text(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Questions")
    await inspector.open(session)
    await inspector.say("[question]")
    form = inspector.page.get_by_role("form", name="The agent asks")
    await expect(form.get_by_role("button", name="Answer", exact=False).first).to_be_disabled()
    await form.get_by_label("Green").check()
    await form.get_by_label("Tests").check()
    await form.get_by_label("Benchmarks").check()
    await form.get_by_label("Another answer to: Extras").fill("a manual")
    await form.get_by_role("button", name=re.compile("^Answer")).click()
    await expect(inspector.log).to_contain_text("You answered: Green; Tests, Benchmarks, a manual.")
    await inspector.say("[question]")
    await form.get_by_label("Another answer to: Colour").fill("none of these")
    await form.get_by_label("Another answer to: Colour").press("Enter")
    await expect(inspector.log).to_contain_text("You answered: none of these; .")


async def test_a_question_is_answered_or_rejected_by_keyboard(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Keys")
    await inspector.open(session)
    await inspector.say("[question]")
    await expect(inspector.page.locator("[data-ask]")).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("3")
    await expect(inspector.page.get_by_label("Blue")).to_be_checked()
    await inspector.page.keyboard.press("4")
    await expect(inspector.page.get_by_label("Tests")).to_be_checked()
    await inspector.page.keyboard.press("Enter")
    await expect(inspector.log).to_contain_text("You answered: Blue; Tests.")
    await inspector.say("[question]")
    await expect(inspector.page.locator("[data-ask]")).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("x")
    await inspector.page.keyboard.type("ask somebody else")
    await inspector.page.keyboard.press("Enter")
    await expect(inspector.log).to_contain_text("You did not want to answer: ask somebody else.")


async def test_a_plan_is_approved(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plans")
    await inspector.open(session)
    await inspector.say('[approve plan="1. **Write** it\n2. Test it"]')
    form = inspector.page.get_by_role("form", name="The agent asks")
    await expect(form.get_by_role("listitem")).to_have_text(["Write it", "Test it"])
    await expect(inspector.status).to_have_text("Waiting for you")
    await form.get_by_label("Yes, carry it out").check()
    await form.get_by_role("button", name=re.compile("^Answer")).click()
    await expect(inspector.log).to_contain_text("I carry out the plan.")
    await expect(inspector.entries("ask")).to_contain_text("Plan: Yes, carry it out")


async def test_a_plan_is_rejected_with_changes(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plans again")
    await inspector.open(session)
    await inspector.say("[approve]")
    form = inspector.page.get_by_role("form", name="The agent asks")
    await form.get_by_label("Another answer to: Plan").fill("test it first")
    await form.get_by_role("button", name=re.compile("^Answer")).click()
    await expect(inspector.log).to_contain_text("I plan again: test it first.")


async def test_a_plan_is_decided_by_keyboard_alone(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plans by keys")
    await inspector.open(session)
    await inspector.say("[approve] [approve]")
    asks = inspector.page.locator("[data-ask]")
    await expect(asks).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("x")
    await inspector.page.keyboard.type("not today")
    await inspector.page.keyboard.press("Enter")
    await expect(inspector.log).to_contain_text("I plan again: not today.")
    await expect(asks).to_be_visible()
    await inspector.log.focus()
    await inspector.page.keyboard.press("1")
    await expect(inspector.page.get_by_label("Yes, carry it out")).to_be_checked()
    await inspector.page.keyboard.press("Enter")
    await expect(inspector.log).to_contain_text("I carry out the plan.")


async def test_the_inbox_lists_pending_asks_of_all_sessions(inspector: Inspector, daemon: Daemon) -> None:
    first, second = daemon.session("First of two"), daemon.session("Second of two")
    daemon.send(first, '[ask command="echo one"]')
    daemon.send(second, "[question]")
    await inspector.page.keyboard.press("g")
    await inspector.page.keyboard.press("i")
    await expect(inspector.page.get_by_role("heading", name="Inbox")).to_be_visible()
    one = inspector.page.get_by_role("region", name="First of two")
    two = inspector.page.get_by_role("region", name="Second of two")
    await expect(two.get_by_label("Red")).to_be_visible()
    await one.get_by_role("button", name="Allow once").focus()
    await inspector.page.keyboard.press("y")
    await expect(one).to_have_count(0)
    await two.get_by_role("button", name="Do not answer").click()
    await two.get_by_role("button", name="Do not answer").click()
    await expect(inspector.page.get_by_text("Nobody waits for you")).to_be_visible()
    for session in (first, second):
        await until(lambda session=session: daemon.info(session)["status"] == "idle")


async def test_an_ask_answered_elsewhere_closes_here_too(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Elsewhere")
    await inspector.open(session)
    await inspector.say("[ask]")
    await expect(inspector.page.locator("[data-ask]")).to_be_visible()
    (ask,) = daemon.call("GET", f"/sessions/{session}/asks").json()["asks"]
    daemon.call("POST", f"/sessions/{session}/permissions/{ask['askId']}/reply", {"reply": "once"})
    await expect(inspector.entries("ask")).to_contain_text("Allowed")


async def test_a_custom_tool_call_can_be_answered_by_hand(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Weather", tools=[{"name": "get_weather", "description": "The weather"}])
    await inspector.open(session)
    await inspector.say('[custom name=get_weather input={"city":"Oslo"}]')
    card = inspector.page.get_by_role("form", name="Custom tool get_weather is called")
    await expect(card).to_contain_text("Oslo")
    await card.get_by_label("Result of the tool").fill("sunny")
    await card.get_by_role("button", name="Send result").click()
    await expect(inspector.entries("turn")).to_contain_text("Done")
    await expect(inspector.log).to_contain_text("sunny")


async def test_a_notification_is_shown_while_the_page_is_hidden(context: BrowserContext, daemon: Daemon) -> None:
    await context.grant_permissions(["notifications"])
    await context.add_init_script(
        """window.told = [];
        window.Notification = class {
            static permission = "granted";
            constructor(title, rest) { told.push([title, rest.body]); }
        };
        Object.defineProperty(document, "hidden", { get: () => window.away === true });"""
    )
    tab = await enter(context, daemon)
    session = daemon.session("Notifies")
    await tab.open(session)
    await expect(tab.status).to_be_visible()
    await tab.page.evaluate("() => { window.away = true; }")
    daemon.send(session, '[ask command="echo look"]')
    await tab.page.wait_for_function("() => window.told.length === 1")
    assert await tab.page.evaluate("() => window.told") == [["An agent waits for you", "bash: echo look"]]
    assert tab.complaints() == []
