"""The conversation: every event type of the mock, as it is seen, and what a person does about it."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.inspector.looking import Daemon, Inspector

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


def test_words_stream_in_and_the_turn_tells_what_it_cost(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Streams")
    inspector.open(session).say("[text words=50 delay=0.01]")
    expect(inspector.entries("message").filter(has_text="the quick brown")).to_be_visible()
    expect(inspector.entries("turn")).to_contain_text("Done")
    expect(inspector.entries("turn")).to_contain_text("tokens")
    expect(inspector.status).to_have_text("Idle")
    expect(inspector.row(session)).to_contain_text("$")


def test_markdown_is_shown_as_what_it_means(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Markdown")
    daemon.turn(
        session, "# Title\n\n- one\n- two **bold**\n\n```python\ndef f(): return 'x'\n```\n\n| a |\n|---|\n| 1 |"
    )
    inspector.open(session)
    said = inspector.page.locator(".message.assistant")
    expect(said.get_by_role("heading", name="Title")).to_be_visible()
    expect(said.locator("li")).to_have_count(2)
    expect(said.locator("strong", has_text="bold")).to_be_visible()
    expect(said.locator("pre .hljs-keyword").first).to_have_text("def")
    expect(said.locator("td")).to_have_text("1")


def test_a_thought_is_folded_until_somebody_wants_it(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Thinks")
    daemon.turn(session, "[reasoning]")
    inspector.open(session)
    thought = inspector.page.locator(".reasoning")
    expect(thought.locator(".markdown")).to_have_count(0)
    thought.get_by_role("button").click()
    expect(thought.locator(".markdown")).to_contain_text("wants to see me think")
    expect(inspector.log).to_contain_text("I have thought about it.")


def test_a_command_shows_its_output_in_colour_with_exit_code_and_duration(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Runs")
    daemon.turn(session, r"""[tool name=bash command="printf '\\033[31mred\\033[0m plain'; exit 3"]""")
    inspector.open(session)
    tool = inspector.page.get_by_role("region", name="Tool bash, failed")
    expect(tool).to_contain_text("exit 3")
    expect(tool).to_contain_text("ms")
    tool.get_by_role("button", expanded=False).click()
    expect(tool.locator(".ansi-c1")).to_have_text("red")
    expect(tool.locator(".output")).to_contain_text("red plain")


def test_a_diff_is_shown_unified_and_side_by_side(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Edits", permissionMode="acceptEdits")
    daemon.turn(session, '[diff path=x.py line="def f(): return 1"]')
    inspector.open(session)
    diff = inspector.page.locator(".diff")
    expect(diff).to_contain_text("+1")
    expect(diff.locator("table.unified td.added")).to_contain_text("def f(): return 1")
    expect(diff.locator(".hljs-keyword").first).to_have_text("def")
    diff.get_by_role("button", name="Side by side").click()
    expect(diff.locator("table.split td.added")).to_contain_text("def f(): return 1")
    diff.get_by_role("button", name="Unified").click()


def test_an_image_is_seen(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Paints")
    daemon.turn(session, "[image]")
    inspector.open(session)
    picture = inspector.page.locator("img.picture")
    expect(picture).to_be_visible()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 16


def test_a_sub_agent_stands_below_its_call(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Delegates")
    daemon.turn(session, "[subagent]")
    inspector.open(session)
    below = inspector.page.get_by_role("group", name="What the sub-agent did")
    expect(below).to_contain_text("I am the sub-agent. I look around.")
    expect(below.get_by_role("region", name="Tool bash, done")).to_be_visible()
    expect(inspector.log.locator("> .canvas .entry-message", has_text="The sub-agent is done.")).to_have_count(1)


def test_a_plan_shows_what_is_done(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plans")
    daemon.turn(session, "[plan]")
    inspector.open(session)
    plan = inspector.page.get_by_role("region", name="Plan: 3 of 3 done")
    expect(plan.locator("li.completed")).to_have_count(3)
    expect(inspector.entries("plan")).to_have_count(1)


def test_an_mcp_tool_names_its_server(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Searches")
    daemon.turn(session, "[mcp server=docs name=search query=anything]")
    inspector.open(session)
    expect(inspector.entries("tool")).to_contain_text("docs · search")


def test_a_retry_counts_down_and_then_is_past(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Retries")
    inspector.open(session).say("[retry times=1 delay_ms=3000]")
    expect(inspector.page.get_by_role("timer")).to_contain_text("tries again in")
    expect(inspector.log).to_contain_text("It worked after 1 retries.")
    expect(inspector.entries("error")).to_contain_text("tried again")


def test_an_error_is_told_with_its_code(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Fails")
    daemon.turn(session, '[error code=rate_limited message="Too much"]')
    inspector.open(session)
    expect(inspector.entries("error")).to_contain_text("Too much")
    expect(inspector.entries("error")).to_contain_text("rate_limited")
    expect(inspector.entries("turn")).to_contain_text("Ended in an error")


def test_a_dead_agent_leaves_its_stderr(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Dies")
    daemon.turn(session, "[crash code=3 lines=3]")
    inspector.open(session)
    box = inspector.entries("error").last
    expect(box).to_contain_text("exit 3")
    expect(box.get_by_label("Standard error of the agent", exact=True)).to_contain_text(
        "mock: crash as asked for, line 3"
    )
    expect(inspector.entries("message").filter(has_text="I do not feel so")).to_contain_text("not finished")


def test_a_frame_that_nobody_knows_leads_to_its_bytes(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Odd")
    daemon.turn(session, "[unparsed]")
    inspector.open(session)
    inspector.entries("note").filter(has_text="telemetry.v9").get_by_role("link", name="Look at it").click()
    expect(inspector.page.get_by_label("Native frame", exact=True)).to_contain_text("a type that nobody knows")


def test_a_turn_is_stopped(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Slow")
    inspector.open(session).say("[slow seconds=600]")
    expect(inspector.status).to_have_text("Running")
    inspector.page.get_by_role("button", name="Stop").click()
    expect(inspector.entries("turn")).to_contain_text("Stopped")
    inspector.say("[hang]")
    expect(inspector.status).to_have_text("Running")
    inspector.page.keyboard.press("Control+.")
    expect(inspector.entries("turn")).to_have_count(2)


def test_a_message_is_queued_or_steered_into_the_turn(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Busy")
    inspector.open(session).say("[slow seconds=600]")
    expect(inspector.status).to_have_text("Running")
    inspector.say("the next one")
    queue = inspector.page.locator(".queue")
    expect(queue).to_contain_text("1 message waiting")
    expect(queue).to_contain_text("the next one")
    box = inspector.page.get_by_label("Message", exact=True)
    box.fill("listen now")
    box.press("Control+Enter")
    expect(inspector.page.locator(".message.user", has_text="listen now")).to_be_visible()
    inspector.page.get_by_role("button", name="Stop").click()
    expect(inspector.page.locator(".message.user", has_text="the next one")).to_be_visible()
    expect(queue).to_have_count(0)


def test_model_variant_and_modes_change_mid_session(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Changes")
    inspector.open(session)
    inspector.page.get_by_label("Model", exact=True).select_option("mock-large")
    expect(inspector.log).to_contain_text("model is now mock-large")
    inspector.page.get_by_label("Variant", exact=True).select_option("high")
    expect(inspector.log).to_contain_text("variant is now high")
    inspector.page.get_by_label("Permissions", exact=True).select_option("bypass")
    expect(inspector.log).to_contain_text("permission mode is now bypass")
    inspector.say("[whoami]")
    expect(inspector.log).to_contain_text("model: mock-large")
    assert daemon.info(session)["permissionMode"] == "bypass"


def test_files_are_chosen_pasted_and_dropped(inspector: Inspector, daemon: Daemon, tmp_path: Path) -> None:
    session = daemon.session("Files")
    (tmp_path / "notes.txt").write_text("notes")
    inspector.open(session)
    inspector.page.get_by_label("Files to attach").set_input_files(tmp_path / "notes.txt")
    for kind, name in (("paste", "pasted.png"), ("drop", "dropped.png")):
        inspector.page.get_by_label("Message", exact=True).evaluate(
            """(box, [kind, name, bytes]) => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
                const given = kind === "paste" ? { clipboardData: data } : { dataTransfer: data };
                const Kind = kind === "paste" ? ClipboardEvent : DragEvent;
                box.dispatchEvent(new Kind(kind, { bubbles: true, cancelable: true, ...given }));
            }""",
            [kind, name, list(PNG)],
        )
    expect(inspector.page.get_by_role("list", name="Attachments").get_by_role("listitem")).to_have_count(3)
    inspector.page.get_by_role("button", name="Remove dropped.png").click()
    inspector.say("look at these")
    said = inspector.page.locator(".message.user")
    expect(said).to_contain_text("notes.txt")
    expect(said.locator("img.picture")).to_be_visible()


def test_a_long_session_is_read_from_its_end_and_upwards(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Long")
    for number in range(60):
        daemon.turn(session, f"message number {number} of many")
    inspector.open(session)
    expect(inspector.log).to_contain_text("message number 59 of many")
    assert inspector.page.locator(".entry").count() < 60
    for _ in range(60):
        inspector.log.evaluate("log => { log.scrollTop = 0; }")
        inspector.page.wait_for_timeout(30)
        if inspector.page.get_by_text("Session started").is_visible():
            break
    expect(inspector.page.get_by_text("Session started")).to_be_visible()
    expect(inspector.log).to_contain_text("message number 0 of many")
    inspector.page.get_by_role("button", name="To the newest").click()
    expect(inspector.log).to_contain_text("message number 59 of many")


def test_an_ended_session_says_so_and_takes_no_message(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Over")
    daemon.turn(session, "[hello]")
    inspector.open(session)
    expect(inspector.log).to_contain_text("Hello! I am the mock agent")
    daemon.call("POST", f"/sessions/{session}/terminate")
    expect(inspector.entries("note").last).to_contain_text("Session terminated")
    expect(inspector.status).to_have_text("Ended")
    expect(inspector.page.get_by_label("Message", exact=True)).to_have_count(0)


@pytest.mark.parametrize(
    "directive", ["[hello]", "[help]", "[whoami]", "[exit] after", "[text words=5]", "[flood events=500 size=20]"]
)
def test_every_other_directive_ends_in_a_finished_turn(inspector: Inspector, daemon: Daemon, directive: str) -> None:
    session = daemon.session("Any")
    inspector.open(session).say(directive)
    expect(inspector.entries("turn").last).to_contain_text("Done")
    expect(inspector.page.locator(".message.assistant").first).to_be_visible()
