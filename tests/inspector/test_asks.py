"""A human in the loop: permissions and questions, where they were asked and in the inbox, by mouse and by keyboard."""

import re

from playwright.sync_api import BrowserContext, expect

from tests.inspector.looking import Daemon, Inspector


def test_a_permission_shows_what_will_run_and_is_allowed_once(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Asks")
    inspector.open(session).say('[ask command="echo it-was-permitted"]')
    card = inspector.page.get_by_role("region", name=re.compile("^Permission wanted"))
    expect(card.locator("pre").first).to_contain_text("echo it-was-permitted")
    expect(inspector.status).to_have_text("Waiting for you")
    expect(inspector.page.get_by_test_id("inbox-badge")).to_contain_text("1")
    expect(inspector.page).to_have_title("(1) everyagent")
    card.get_by_role("button", name="Allow once").click()
    expect(inspector.entries("ask")).to_contain_text("Allowed: bash: echo it-was-permitted")
    expect(inspector.entries("turn")).to_contain_text("Done")
    expect(inspector.page).to_have_title("everyagent")


def test_always_is_not_asked_again(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Always")
    inspector.open(session).say("[ask]")
    expect(inspector.page.locator("[data-ask]")).to_be_visible()
    inspector.log.focus()
    inspector.page.keyboard.press("Shift+Y")
    expect(inspector.entries("turn")).to_have_count(1)
    inspector.say("[ask]")
    expect(inspector.entries("turn")).to_have_count(2)
    expect(inspector.entries("ask")).to_have_count(1)


def test_a_rejection_gives_its_reason_by_keyboard_alone(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Rejected")
    inspector.open(session).say('[diff path=x.txt line="no"]')
    expect(inspector.page.locator("[data-ask]")).to_be_visible()
    inspector.log.focus()
    inspector.page.keyboard.press("x")
    expect(inspector.page.get_by_label("Why not")).to_be_focused()
    inspector.page.keyboard.type("not in this folder")
    inspector.page.keyboard.press("Enter")
    expect(inspector.entries("ask")).to_contain_text("Rejected")
    expect(inspector.log).to_contain_text("rejected: not in this folder")


def test_questions_take_one_many_and_free_text(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Questions")
    inspector.open(session).say("[question]")
    form = inspector.page.get_by_role("form", name="The agent asks")
    expect(form.get_by_role("button", name="Answer", exact=False).first).to_be_disabled()
    form.get_by_label("Green").check()
    form.get_by_label("Tests").check()
    form.get_by_label("Benchmarks").check()
    form.get_by_label("Another answer to: Extras").fill("a manual")
    form.get_by_role("button", name=re.compile("^Answer")).click()
    expect(inspector.log).to_contain_text("You answered: Green; Tests, Benchmarks, a manual.")
    inspector.say("[question]")
    form.get_by_label("Another answer to: Colour").fill("none of these")
    form.get_by_label("Another answer to: Colour").press("Enter")
    expect(inspector.log).to_contain_text("You answered: none of these; .")


def test_a_question_is_answered_with_the_keyboard_or_not_at_all(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Keys")
    inspector.open(session).say("[question]")
    expect(inspector.page.locator("[data-ask]")).to_be_visible()
    inspector.log.focus()
    inspector.page.keyboard.press("3")
    expect(inspector.page.get_by_label("Blue")).to_be_checked()
    inspector.page.keyboard.press("4")
    inspector.page.keyboard.press("Enter")
    expect(inspector.log).to_contain_text("You answered: Blue; Tests.")
    inspector.say("[question]")
    expect(inspector.page.locator("[data-ask]")).to_be_visible()
    inspector.log.focus()
    inspector.page.keyboard.press("x")
    expect(inspector.log).to_contain_text("You did not want to answer.")


def test_the_inbox_holds_what_waits_in_all_sessions(inspector: Inspector, daemon: Daemon) -> None:
    first, second = daemon.session("First of two"), daemon.session("Second of two")
    daemon.send(first, '[ask command="echo one"]')
    daemon.send(second, "[question]")
    inspector.page.keyboard.press("g")
    inspector.page.keyboard.press("i")
    expect(inspector.page.get_by_role("heading", name="Inbox")).to_be_visible()
    one = inspector.page.get_by_role("region", name="First of two")
    two = inspector.page.get_by_role("region", name="Second of two")
    expect(two.get_by_label("Red")).to_be_visible()
    one.get_by_role("button", name="Allow once").focus()
    inspector.page.keyboard.press("y")
    expect(one).to_have_count(0)
    two.get_by_role("button", name="Do not answer").click()
    expect(inspector.page.get_by_text("Nobody waits for you")).to_be_visible()
    for session in (first, second):
        inspector.until(lambda session=session: daemon.info(session)["status"] == "idle")


def test_an_ask_answered_elsewhere_closes_here_too(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Elsewhere")
    inspector.open(session).say("[ask]")
    expect(inspector.page.locator("[data-ask]")).to_be_visible()
    (ask,) = daemon.call("GET", f"/sessions/{session}/asks").json()["asks"]
    daemon.call("POST", f"/sessions/{session}/permissions/{ask['askId']}/reply", {"reply": "once"})
    expect(inspector.entries("ask")).to_contain_text("Allowed")


def test_a_custom_tool_can_be_answered_in_the_programs_place(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Weather", tools=[{"name": "get_weather", "description": "The weather"}])
    inspector.open(session).say('[custom name=get_weather input={"city":"Oslo"}]')
    card = inspector.page.get_by_role("form", name="Custom tool get_weather is called")
    expect(card).to_contain_text("Oslo")
    card.get_by_label("Result of the tool").fill("sunny")
    card.get_by_role("button", name="Send result").click()
    expect(inspector.entries("turn")).to_contain_text("Done")
    expect(inspector.log).to_contain_text("sunny")


def test_a_notification_is_shown_while_nobody_looks(context: BrowserContext, daemon: Daemon) -> None:
    context.grant_permissions(["notifications"])
    context.add_init_script(
        """window.told = [];
        window.Notification = class {
            static permission = "granted";
            constructor(title, rest) { told.push([title, rest.body]); }
        };
        Object.defineProperty(document, "hidden", { get: () => window.away === true });"""
    )
    tab = Inspector(context, daemon).enter()
    session = daemon.session("Notifies")
    tab.open(session)
    expect(tab.status).to_be_visible()
    tab.page.evaluate("() => { window.away = true; }")
    daemon.send(session, '[ask command="echo look"]')
    tab.page.wait_for_function("() => window.told.length === 1")
    assert tab.page.evaluate("() => window.told") == [["An agent waits for you", "bash: echo look"]]
    assert tab.complaints() == []
