"""The conversation view: how each event type is rendered, and how messages are sent."""

from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, expect

from tests.inspector.page_driver import Daemon, Inspector, enter, until

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000d49444154789c6360000002000001e221bc330000000049454e44ae426082"
)


async def test_text_streams_in_and_the_turn_shows_its_cost(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Streams")
    await inspector.open(session)
    await inspector.say("[text words=50 delay=0.01]")
    await expect(inspector.entries("message").filter(has_text="the quick brown")).to_be_visible()
    await expect(inspector.entries("turn")).to_contain_text("Done")
    await expect(inspector.entries("turn")).to_contain_text("tokens")
    await expect(inspector.status).to_have_text("Idle")
    await expect(inspector.row(session)).to_contain_text("$")


async def test_markdown_is_rendered(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Markdown")
    daemon.turn(
        session, "# Title\n\n- one\n- two **bold**\n\n```python\ndef f(): return 'x'\n```\n\n| a |\n|---|\n| 1 |"
    )
    await inspector.open(session)
    said = inspector.page.locator(".message.assistant")
    await expect(said.get_by_role("heading", name="Title")).to_be_visible()
    await expect(said.locator("li")).to_have_count(2)
    await expect(said.locator("strong", has_text="bold")).to_be_visible()
    await expect(said.locator("pre .hljs-keyword").first).to_have_text("def")
    await expect(said.locator("td")).to_have_text("1")


async def test_reasoning_is_folded_until_it_is_opened(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Thinks")
    daemon.turn(session, "[reasoning]")
    await inspector.open(session)
    thought = inspector.page.locator(".reasoning")
    await expect(thought.locator(".markdown")).to_have_count(0)
    await thought.get_by_role("button").click()
    await expect(thought.locator(".markdown")).to_contain_text("wants to see me think")
    await expect(inspector.log).to_contain_text("I have thought about it.")


async def test_a_command_shows_its_output_in_colour_with_exit_code_and_duration(
    inspector: Inspector, daemon: Daemon
) -> None:
    session = daemon.session("Runs")
    daemon.turn(session, r"""[tool name=bash command="printf '\\033[31mred\\033[0m plain'; exit 3"]""")
    await inspector.open(session)
    tool = inspector.page.get_by_role("region", name="Tool bash, failed")
    await expect(tool).to_contain_text("exit 3")
    await expect(tool).to_contain_text("ms")
    await tool.get_by_role("button", expanded=False).click()
    await expect(tool.locator(".ansi-c1")).to_have_text("red")
    await expect(tool.locator(".output")).to_contain_text("red plain")


async def test_a_diff_is_shown_unified_and_side_by_side(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Edits", permissionMode="acceptEdits")
    daemon.turn(session, '[diff path=x.py line="def f(): return 1"]')
    await inspector.open(session)
    diff = inspector.page.locator(".diff")
    await expect(diff).to_contain_text("+1")
    await expect(diff.locator("table.unified td.added")).to_contain_text("def f(): return 1")
    await expect(diff.locator(".hljs-keyword").first).to_have_text("def")
    await diff.get_by_role("button", name="Side by side").click()
    await expect(diff.locator("table.split td.added")).to_contain_text("def f(): return 1")
    await diff.get_by_role("button", name="Unified").click()


async def test_an_image_is_rendered(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Paints")
    daemon.turn(session, "[image]")
    await inspector.open(session)
    picture = inspector.page.locator("img.picture")
    await expect(picture).to_be_visible()
    assert await picture.evaluate("image => image.decode().then(() => image.naturalWidth)") == 16


async def test_a_sub_agents_items_are_below_its_call(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Delegates")
    daemon.turn(session, "[subagent]")
    await inspector.open(session)
    below = inspector.page.get_by_role("group", name="What the sub-agent did")
    await expect(below).to_contain_text("I am the sub-agent. I look around.")
    await expect(below.get_by_role("region", name="Tool bash, done")).to_be_visible()
    await expect(inspector.log.locator("> .canvas .entry-message", has_text="The sub-agent is done.")).to_have_count(1)


async def test_a_plan_shows_completed_steps(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plans")
    daemon.turn(session, "[plan]")
    await inspector.open(session)
    plan = inspector.page.get_by_role("region", name="Plan: 3 of 3 done")
    await expect(plan.locator("li.completed")).to_have_count(3)
    await expect(inspector.entries("plan")).to_have_count(1)


async def test_an_mcp_tool_names_its_server(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Searches")
    daemon.turn(session, "[mcp server=docs name=search query=anything]")
    await inspector.open(session)
    await expect(inspector.entries("tool")).to_contain_text("docs · search")


async def test_a_retry_counts_down_and_ends(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Retries")
    await inspector.open(session)
    await inspector.say("[retry times=1 delay_ms=600000]")
    await expect(inspector.page.get_by_role("timer")).to_contain_text("tries again in")
    await inspector.page.get_by_role("button", name="Stop").click()
    await expect(inspector.entries("turn")).to_contain_text("Stopped")
    session = daemon.session("Retried")
    await inspector.open(session)
    await inspector.say("[retry times=1 delay_ms=10]")
    await expect(inspector.log).to_contain_text("It worked after 1 retry.")
    await expect(inspector.entries("error")).to_contain_text("tried again")


async def test_an_error_is_shown_with_its_code(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Fails")
    daemon.turn(session, '[error code=rate_limited message="Too much"]')
    await inspector.open(session)
    await expect(inspector.entries("error")).to_contain_text("Too much")
    await expect(inspector.entries("error")).to_contain_text("rate_limited")
    await expect(inspector.entries("turn")).to_contain_text("Ended in an error")


async def test_the_stderr_of_a_crashed_agent_is_shown(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Dies")
    daemon.turn(session, "[crash code=3 lines=3]")
    await inspector.open(session)
    box = inspector.entries("error").last
    await expect(box).to_contain_text("exit 3")
    await expect(box.get_by_label("Standard error of the agent", exact=True)).to_contain_text(
        "mock: crash as asked for, line 3"
    )
    await expect(inspector.entries("message").filter(has_text="I do not feel so")).to_contain_text("not finished")


async def test_an_unparsed_frame_links_to_its_bytes(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Odd")
    daemon.turn(session, "[unparsed]")
    await inspector.open(session)
    await inspector.entries("note").filter(has_text="telemetry.v9").get_by_role("link", name="Look at it").click()
    await expect(inspector.page.get_by_label("Native frame", exact=True)).to_contain_text("a type that nobody knows")


async def test_a_turn_is_stopped(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Slow")
    await inspector.open(session)
    await inspector.say("[slow seconds=600]")
    await expect(inspector.status).to_have_text("Running")
    await inspector.page.get_by_role("button", name="Stop").click()
    await expect(inspector.entries("turn")).to_contain_text("Stopped")
    await inspector.say("[hang]")
    await expect(inspector.status).to_have_text("Running")
    await inspector.page.keyboard.press("Control+.")
    await expect(inspector.entries("turn")).to_have_count(2)


async def test_a_message_is_queued_or_steered_into_the_turn(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Busy")
    await inspector.open(session)
    await inspector.say("[slow seconds=600]")
    await expect(inspector.status).to_have_text("Running")
    await inspector.say("the next one")
    queue = inspector.page.locator(".queue")
    await expect(queue).to_contain_text("1 message waiting")
    await expect(queue).to_contain_text("the next one")
    box = inspector.page.get_by_label("Message", exact=True)
    await box.fill("listen now")
    await box.press("Control+Enter")
    await expect(inspector.page.locator(".message.user", has_text="listen now")).to_be_visible()


async def test_stop_sends_no_message_that_waits(inspector: Inspector, daemon: Daemon, tmp_path: Path) -> None:
    session = daemon.session("Stopped")
    (tmp_path / "notes.txt").write_text("notes")
    await inspector.open(session)
    await inspector.say("[slow seconds=600]")
    await expect(inspector.page.get_by_role("button", name="Stop")).to_be_visible()
    await inspector.say("the next one")
    await inspector.page.get_by_label("Files to attach").set_input_files(tmp_path / "notes.txt")
    await expect(inspector.page.get_by_role("list", name="Attachments")).to_contain_text("notes.txt")
    await inspector.say("the one after")
    await expect(inspector.page.locator(".queue li")).to_have_count(2)
    box = inspector.page.get_by_label("Message", exact=True)
    await box.fill("and this")
    await inspector.page.get_by_role("button", name="Stop").click()
    await expect(inspector.entries("turn")).to_contain_text("Stopped")
    await expect(box).to_have_value("the next one\n\nthe one after\n\nand this")
    await expect(inspector.page.get_by_role("list", name="Attachments")).to_contain_text("notes.txt")
    await expect(inspector.page.locator(".queue")).to_have_count(0)
    assert daemon.info(session)["queuedMessages"] == 0
    await box.press("Enter")
    await expect(inspector.page.locator(".message.user").last).to_contain_text("the one after")
    await expect(inspector.page.locator(".message.user").last).to_contain_text("notes.txt")


async def test_a_queued_message_is_withdrawn_or_edited(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Queue")
    await inspector.open(session)
    await inspector.say("[slow seconds=600]")
    await expect(inspector.page.get_by_role("button", name="Stop")).to_be_visible()
    for text in ("the first", "the second", "the third"):
        await inspector.say(text)
    waiting = inspector.page.locator(".queue li")
    await expect(waiting).to_have_text(["the first", "the second", "the third"])
    await inspector.page.get_by_role("button", name="Do not send “the second”").click()
    await expect(waiting).to_have_text(["the first", "the third"])
    await inspector.page.get_by_role("button", name="Edit “the first”").click()
    await expect(waiting).to_have_text(["the third"])
    await expect(inspector.page.get_by_label("Message", exact=True)).to_have_value("the first")
    daemon.call("POST", f"/sessions/{session}/cancel")
    await expect(inspector.page.locator(".message.user")).to_contain_text(["[slow seconds=600]", "the third"])


async def test_queued_messages_are_shown_in_every_tab_and_after_a_reload(
    inspector: Inspector, context: BrowserContext, daemon: Daemon
) -> None:
    session = daemon.session("Busy with others")
    daemon.send(session, "[slow seconds=600]")
    await inspector.open(session)
    await expect(inspector.status).to_have_text("Running")
    daemon.send(session, "from a program")
    other = await enter(context, daemon)
    await other.open(session)
    await other.say("from another tab")
    for tab in (inspector, other):
        await expect(tab.page.locator(".queue li")).to_have_text(["from a program", "from another tab"])
    await other.page.reload()
    await expect(other.page.locator(".queue li")).to_have_text(["from a program", "from another tab"])
    daemon.call("POST", f"/sessions/{session}/cancel")
    for tab in (inspector, other):
        await expect(tab.page.locator(".message.user", has_text="from another tab")).to_be_visible()
        await expect(tab.page.locator(".queue")).to_have_count(0)


async def test_model_variant_and_modes_change_mid_session(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Changes")
    await inspector.open(session)
    await inspector.page.get_by_label("Model", exact=True).select_option("mock-large")
    await expect(inspector.log).to_contain_text("Model is now mock-large")
    await inspector.page.get_by_label("Variant", exact=True).select_option("high")
    await expect(inspector.log).to_contain_text("Variant is now high")
    await inspector.page.get_by_label("Permissions", exact=True).select_option("bypass")
    await expect(inspector.log).to_contain_text("Permission mode is now bypass")
    await inspector.say("[whoami]")
    await expect(inspector.log).to_contain_text("model: mock-large")
    assert daemon.info(session)["permissionMode"] == "bypass"


async def test_changed_policies_are_shown_in_words(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Policies")
    await inspector.open(session)
    daemon.call("PATCH", f"/sessions/{session}", {"toolPolicies": {"tools": {"bash": "deny"}}})
    await expect(inspector.entries("note").last).to_contain_text("Tool policies is now")
    await expect(inspector.entries("note").last).to_contain_text("bash: deny")


async def test_files_are_chosen_pasted_and_dropped(inspector: Inspector, daemon: Daemon, tmp_path: Path) -> None:
    session = daemon.session("Files")
    (tmp_path / "notes.txt").write_text("notes")
    (tmp_path / "more.txt").write_text("more")
    await inspector.open(session)
    await inspector.page.get_by_label("Files to attach").set_input_files(
        [tmp_path / "notes.txt", tmp_path / "more.txt"]
    )
    for kind, name in (("paste", "pasted.png"), ("drop", "dropped.png")):
        await inspector.page.get_by_label("Message", exact=True).evaluate(
            """(box, [kind, name, bytes]) => {
                const data = new DataTransfer();
                data.items.add(new File([new Uint8Array(bytes)], name, { type: "image/png" }));
                const given = kind === "paste" ? { clipboardData: data } : { dataTransfer: data };
                const Kind = kind === "paste" ? ClipboardEvent : DragEvent;
                box.dispatchEvent(new Kind(kind, { bubbles: true, cancelable: true, ...given }));
            }""",
            [kind, name, list(PNG)],
        )
    await expect(inspector.page.get_by_role("list", name="Attachments").get_by_role("listitem")).to_have_count(4)
    await inspector.page.get_by_role("button", name="Remove dropped.png").click()
    await inspector.say("look at these")
    said = inspector.page.locator(".message.user")
    await expect(said).to_contain_text("notes.txt")
    await expect(said.locator("img.picture")).to_be_visible()


async def test_a_long_session_is_read_from_its_end_and_upwards(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Long")
    for number in range(25):
        daemon.turn(session, f"message number {number} of many {'[text words=2] and ' * 8}")
    await inspector.open(session)
    await expect(inspector.log).to_contain_text("message number 24 of many")
    assert await inspector.page.locator(".entry").count() < 60

    async def at_the_start() -> bool:
        """Rows are measured as they appear, which may move the list again after it was scrolled."""
        await inspector.log.evaluate("log => { log.scrollTop = 0; }")
        first = inspector.log.get_by_text("message number 0 of many").first
        return await inspector.page.get_by_text("Session started").is_visible() and await first.is_visible()

    await until(at_the_start)
    await inspector.page.get_by_role("button", name="To the newest").click()
    await expect(inspector.log).to_contain_text("message number 24 of many")
    await inspector.log.focus()
    await inspector.page.keyboard.press("Home")
    await expect(inspector.page.get_by_text("Session started")).to_be_in_viewport()
    await inspector.page.keyboard.press("End")
    await expect(inspector.entries("turn").last).to_be_in_viewport()
    await expect(inspector.log).to_contain_text("message number 24 of many")
    await inspector.page.keyboard.press("Home")
    await expect(inspector.page.get_by_text("Session started")).to_be_in_viewport()


async def test_an_ended_session_accepts_no_message(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Over")
    daemon.turn(session, "[hello]")
    await inspector.open(session)
    await expect(inspector.log).to_contain_text("Hello! I am the mock agent")
    daemon.call("POST", f"/sessions/{session}/terminate")
    await expect(inspector.entries("note").last).to_contain_text("Session terminated")
    await expect(inspector.status).to_have_text("Ended")
    await expect(inspector.page.get_by_label("Message", exact=True)).to_have_count(0)


@pytest.mark.parametrize(
    "directive", ["[hello]", "[help]", "[whoami]", "[exit] after", "[text words=5]", "[flood events=500 size=20]"]
)
async def test_every_other_directive_ends_in_a_finished_turn(
    inspector: Inspector, daemon: Daemon, directive: str
) -> None:
    session = daemon.session("Any")
    await inspector.open(session)
    await inspector.say(directive)
    await expect(inspector.entries("turn").last).to_contain_text("Done")
    await expect(inspector.page.locator(".message.assistant").first).to_be_visible()
