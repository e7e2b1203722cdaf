"""A rewind of a session's files and conversation, in a real browser."""

from pathlib import Path

from playwright.async_api import Locator, expect

from tests.inspector.page_driver import Daemon, Inspector, until
from tests.waiting import wait_until

WRITE = '[tool name=bash command="echo {} > {}"]'


def kept_session(daemon: Daemon, *turns: str) -> tuple[str, Path]:
    """Returns when the files are kept after the last turn."""
    session = daemon.session("Kept", permissionMode="bypass", checkpoints=True)
    for turn in turns:
        daemon.turn(session, turn)
    listed = f"/sessions/{session}/checkpoints"
    wait_until(lambda: len(daemon.call("GET", listed).json()["checkpoints"]) == 2 * len(turns))
    return session, Path(str(daemon.info(session)["directory"]))


async def rewind_to(inspector: Inspector, turn: int) -> Locator:
    await inspector.entries("turn").nth(turn).get_by_role("button", name="Rewind…").click()
    return inspector.page.get_by_role("dialog", name="Rewind to the end of this turn")


async def test_files_and_conversation_are_brought_back(inspector: Inspector, daemon: Daemon) -> None:
    turns = [WRITE.format("one", "a.txt"), WRITE.format("two", "a.txt"), WRITE.format("three", "b.txt")]
    session, folder = kept_session(daemon, *turns)
    await inspector.open(session)
    dialog = await rewind_to(inspector, 0)
    await expect(dialog).to_contain_text("2 files will be changed or removed")
    await expect(dialog.locator("li")).to_have_text(["a.txt", "b.txt"])
    assert (folder / "a.txt").read_text() == "two\n"
    await dialog.get_by_role("button", name="Rewind", exact=True).click()
    await expect(dialog).to_have_count(0)
    assert (folder / "a.txt").read_text() == "one\n"
    assert not (folder / "b.txt").exists()
    await expect(inspector.log).to_contain_text("Rewound to event")


async def test_a_file_that_a_person_changed_stops_the_rewind_and_is_named(inspector: Inspector, daemon: Daemon) -> None:
    inspector.tolerated.append("409")
    session, folder = kept_session(daemon, WRITE.format("one", "a.txt"), WRITE.format("two", "a.txt"))
    (folder / "a.txt").write_text("person\n")
    await inspector.open(session)
    dialog = await rewind_to(inspector, 0)
    await expect(dialog.get_by_role("alert")).to_contain_text("changed by a person since: a.txt")
    await expect(dialog.get_by_role("button", name="Rewind", exact=True)).to_be_disabled()
    await dialog.get_by_role("radio", name="Conversation", exact=True).check()
    await dialog.get_by_role("button", name="Rewind", exact=True).click()
    await expect(dialog).to_have_count(0)
    assert (folder / "a.txt").read_text() == "person\n"


async def test_without_checkpoints_only_the_conversation_is_offered(inspector: Inspector, daemon: Daemon) -> None:
    session = daemon.session("Plain")
    daemon.turn(session, "hello")
    await inspector.open(session)
    dialog = await rewind_to(inspector, 0)
    await expect(dialog.get_by_role("radio", name="Files", exact=True)).to_be_disabled()
    await dialog.get_by_role("button", name="Rewind", exact=True).click()
    await until(lambda: "rewound" in str(daemon.events(session)))
