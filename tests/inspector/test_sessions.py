"""The session list and actions on a session: create, rename, fork, export, terminate, delete, search."""

import re
from pathlib import Path

from playwright.async_api import expect

from tests.inspector.page_driver import Daemon, Inspector


async def choose(inspector: Inspector, what: str) -> None:
    await inspector.page.get_by_role("button", name="What to do with this session").click()
    await inspector.page.get_by_role("menuitem", name=what).click()


async def test_a_new_session_offers_the_agents_options(inspector: Inspector, daemon: Daemon, tmp_path: Path) -> None:
    await inspector.page.keyboard.press("n")
    dialog = inspector.page.get_by_role("dialog", name="New session")
    await dialog.get_by_role("radio", name=re.compile("Mock agent")).check()
    await dialog.get_by_label("Model").select_option("mock-large")
    await dialog.get_by_label("Variant").select_option("high")
    await dialog.get_by_label(re.compile("^Permissions")).select_option("acceptEdits")
    await dialog.get_by_label(re.compile("^Directory")).fill(str(tmp_path))
    await dialog.get_by_label("First message").fill("[whoami]")
    await dialog.get_by_text("Environment, MCP servers").click()
    await dialog.get_by_label("Environment", exact=True).fill("COLOUR=a dark red\nEMPTY=")
    await dialog.get_by_label("Secrets").fill("PASSWORD=correct-horse-battery")
    await dialog.get_by_label("MCP servers").fill("docs=https://example.com/mcp\nfiles=serve-files --root 'a b'")
    await dialog.get_by_label("Commands").select_option("deny")
    await dialog.get_by_label("Isolation").select_option("none")
    await dialog.get_by_label("Lifetime").select_option("process")
    await dialog.get_by_label("Title").fill("Made here")
    await dialog.get_by_role("button", name="Start session").click()
    await expect(inspector.page.get_by_role("heading", name="Made here")).to_be_visible()
    await expect(inspector.page.locator(".message.assistant").first).to_contain_text("model: mock-large")
    session = inspector.page.url.rpartition("/")[2]
    made = daemon.info(session)
    wanted = {"model": "mock-large", "variant": "high", "permissionMode": "acceptEdits", "directory": str(tmp_path)}
    wanted |= {"lifetime": "process", "isolation": "none", "env": ["COLOUR", "EMPTY", "PASSWORD"]}
    assert {name: made[name] for name in wanted} == wanted
    assert made["toolPolicies"] == {"default": "auto", "tools": {"bash": "deny"}, "mcp": {}, "ownTools": True}
    servers = daemon.call("GET", f"/sessions/{session}").json()["mcp"]
    assert servers["docs"]["url"] == "https://example.com/mcp"
    assert servers["files"]["command"] == ["serve-files", "***", "***"]
    await inspector.page.keyboard.press("Escape")
    await inspector.log.focus()
    await inspector.page.keyboard.press("n")
    await dialog.get_by_role("group", name="Recent directories").get_by_role("button", name=tmp_path.name).click()
    await expect(dialog.get_by_label(re.compile("^Directory"))).to_have_value(str(tmp_path))


async def test_a_refused_session_has_its_error_at_the_field(inspector: Inspector, tmp_path: Path) -> None:
    inspector.tolerated.append("status of 400")
    await inspector.page.keyboard.press("n")
    dialog = inspector.page.get_by_role("dialog", name="New session")
    start = dialog.get_by_role("button", name="Start session")
    field = dialog.locator("label").filter(has_text="Directory")
    await dialog.get_by_label(re.compile("^Directory")).fill("not/absolute")
    await start.click()
    await expect(field.get_by_role("alert")).to_contain_text("must be an absolute path")
    await dialog.get_by_label(re.compile("^Directory")).fill(str(tmp_path))
    await dialog.get_by_text("Environment, MCP servers").click()
    await dialog.get_by_label("MCP servers").fill("no sign of equality")
    await start.click()
    await expect(dialog.get_by_role("alert")).to_have_text(re.compile("has no name"))
    await dialog.get_by_label("MCP servers").fill("")
    await dialog.get_by_label("In a git worktree").check()
    await start.click()
    await expect(dialog.locator("label").filter(has_text="In a git worktree").get_by_role("alert")).to_contain_text(
        "git init"
    )
    await dialog.get_by_label("In a git worktree").uncheck()
    await start.click()
    await expect(dialog).to_have_count(0)
    await expect(inspector.page.locator(".notice")).to_have_count(0)


async def test_a_notice_covers_nothing_and_goes_away(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Noticed")
    daemon.turn(session, "[hello]")
    await inspector.page.clock.install()
    await inspector.open(session)
    await choose(inspector, "Fork")
    notice = inspector.page.locator(".notice")
    await expect(notice).to_contain_text("Forked")
    place = await notice.bounding_box()
    assert place is not None
    for part in (".session-header", ".composer", ".scroller.conversation", ".sidebar"):
        other = await inspector.page.locator(part).bounding_box()
        assert other is not None
        apart = (
            other["y"] >= place["y"] + place["height"]
            or other["y"] + other["height"] <= place["y"]
            or other["x"] + other["width"] <= place["x"]
        )
        assert apart, part
    await inspector.page.clock.fast_forward(5000)
    await expect(notice).to_have_count(0)


async def test_sessions_made_elsewhere_appear_and_update(inspector: Inspector, daemon: Daemon) -> None:
    inspector.tolerated.append("status of 404")  # asked for once more, after it was deleted
    session = daemon.session("Somebody else's")
    row = inspector.row(session)
    await expect(row).to_contain_text("Somebody else's")
    daemon.send(session, "[slow seconds=600]")
    await expect(row.get_by_role("img", name="Running")).to_be_visible()
    daemon.call("PATCH", f"/sessions/{session}", {"title": "Another name"})
    await expect(row).to_contain_text("Another name")
    daemon.call("POST", f"/sessions/{session}/cancel")
    await expect(row.get_by_role("img", name="Idle")).to_be_visible()
    daemon.call("DELETE", f"/sessions/{session}")
    await expect(row).to_have_count(0)


async def test_a_session_that_is_deleted_after_its_end_leaves_every_list(inspector: Inspector, daemon: Daemon) -> None:
    inspector.tolerated.append("status of 404")
    ended, other = daemon.session("Deleted later"), daemon.session("Stays")
    daemon.call("POST", f"/sessions/{ended}/terminate")
    await expect(inspector.row(ended).get_by_role("img", name="Ended")).to_be_visible()
    await inspector.open(ended)
    await expect(inspector.status).to_have_text("Ended")
    daemon.call("DELETE", f"/sessions/{ended}")
    await expect(inspector.row(ended)).to_have_count(0)
    await expect(inspector.page.get_by_text("This session is gone")).to_be_visible()
    await expect(inspector.row(other)).to_be_visible()


async def test_a_session_is_renamed_forked_and_exported(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Old name")
    daemon.turn(session, "remember this word: heliotrope")
    await inspector.open(session)
    await choose(inspector, "Rename…")
    dialog = inspector.page.get_by_role("dialog")
    await dialog.get_by_label("Title").fill("New name")
    await dialog.get_by_label("Title").press("Enter")
    await expect(inspector.page.get_by_role("heading", name="New name", level=1)).to_be_visible()
    for kind, suffix in (("Markdown", "md"), ("HTML", "html"), ("JSON lines", "jsonl")):
        async with inspector.page.expect_download() as expected:
            await choose(inspector, f"Export as {kind}")
        download = await expected.value
        assert download.suggested_filename == f"{session}.{suffix}"
        assert "heliotrope" in Path(await download.path()).read_text()
    await choose(inspector, "Fork")
    await expect(inspector.page.get_by_role("link", name=f"forked from {session}")).to_be_visible()
    await expect(inspector.log).to_contain_text("heliotrope")


async def test_terminating_and_deleting_ask_for_confirmation(inspector: Inspector, daemon: Daemon) -> None:
    inspector.tolerated.append("status of 404")
    session = daemon.session("Short life")
    await inspector.open(session)
    await choose(inspector, "Terminate…")
    await inspector.page.get_by_role("dialog").get_by_role("button", name="Terminate").click()
    await expect(inspector.status).to_have_text("Ended")
    await choose(inspector, "Delete…")
    await inspector.page.get_by_role("dialog").get_by_role("button", name="Keep it").click()
    assert daemon.info(session)["status"] == "ended"
    await choose(inspector, "Delete…")
    await inspector.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    await expect(inspector.row(session)).to_have_count(0)
    await inspector.open(session)
    await expect(inspector.page.get_by_text("This session is gone")).to_be_visible()


async def test_a_found_call_is_shown_in_words(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Called", permissionMode="bypass")
    daemon.turn(session, '[tool name=bash command="echo archaeopteryx"]')
    await inspector.page.get_by_label("Search all sessions").fill("archaeopteryx")
    group = inspector.page.get_by_role("region", name="Said in conversations").get_by_role("region", name="Called")
    await expect(group.get_by_role("link", name="bash echo archaeopteryx", exact=True)).to_be_visible()
    await expect(group).not_to_contain_text("{")


async def test_the_list_is_filtered_and_messages_are_searched(inspector: Inspector, daemon: Daemon) -> None:
    needle, other = daemon.session("Has a needle"), daemon.session("Has none")
    daemon.turn(needle, "somewhere in here is a zeppelin")
    await expect(inspector.row(other)).to_be_visible()
    await inspector.page.keyboard.press("/")
    await inspector.page.keyboard.type("has a need")
    await expect(inspector.row(other)).to_have_count(0)
    await expect(inspector.row(needle)).to_be_visible()
    await inspector.page.get_by_label("Search all sessions").fill("zeppelin")
    found = inspector.page.get_by_role("region", name="Said in conversations")
    group = found.get_by_role("region", name="Has a needle")
    await expect(group).to_have_count(1)
    await expect(group.locator("mark").first).to_have_text("zeppelin")
    await group.get_by_role("link").first.click()
    await expect(inspector.page.locator(".entry.highlighted")).to_contain_text("zeppelin")
    await inspector.page.get_by_label("Search all sessions").fill("")
    await inspector.page.get_by_label("Status", exact=True).select_option("ended")
    await expect(inspector.row(needle)).to_have_count(0)


async def test_keys_move_between_sessions_views_and_help(inspector: Inspector, daemon: Daemon) -> None:
    first = daemon.session("Lower")
    second = daemon.session("Upper")
    for session in (first, second):
        await expect(inspector.row(session)).to_be_visible()
    await inspector.page.keyboard.press("j")
    await expect(inspector.row(second)).to_have_attribute("aria-current", "page")
    await inspector.page.keyboard.press("j")
    await expect(inspector.row(first)).to_have_attribute("aria-current", "page")
    await inspector.page.keyboard.press("2")
    await expect(inspector.page.get_by_role("table", name="Events")).to_be_visible()
    await inspector.page.keyboard.press("?")
    await expect(inspector.page.get_by_role("dialog", name="Keyboard")).to_contain_text("Allow once")
    await inspector.page.keyboard.press("Escape")
    await inspector.page.keyboard.press("g")
    await inspector.page.keyboard.press("a")
    await expect(inspector.page.get_by_role("heading", name="Agents")).to_be_visible()


async def test_agents_show_their_capabilities_and_unknown_frames(inspector: Inspector, daemon: Daemon) -> None:
    odd = daemon.session("Odd")
    daemon.turn(odd, "[unparsed]")
    await inspector.go("#/agents")
    mock = inspector.page.get_by_role("article", name="Mock agent")
    await expect(mock).to_contain_text("installed")
    await expect(mock).to_contain_text("tested")
    await expect(mock).to_contain_text("Mock Large")
    await mock.get_by_text("show samples").click()
    await expect(mock.get_by_label("Sample of an unknown frame").first).to_contain_text("telemetry.v9")
    await expect(mock).to_contain_text(f"everyagent sessions export {odd} --format case")
    await mock.get_by_text(re.compile("abilities of")).click()
    await expect(mock).to_contain_text("file attachments")
    claude = inspector.page.get_by_role("article", name="Claude Code")
    await expect(claude.get_by_role("button", name=re.compile("Install"))).to_be_visible()
    await expect(claude).to_contain_text("stable")
    await expect(inspector.page.get_by_role("article", name="Amp")).to_contain_text("experimental")
