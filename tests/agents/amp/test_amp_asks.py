"""Permissions with the real Amp and the real hook: answers, modes and the user's settings."""

import json
from pathlib import Path

import pytest
from amp_stage import AmpSession
from tests.scripted.amp_replies import Call, Reply, call, calls, fail, say

from everyagent.model.events import Error, PermissionRequested, PermissionResolved, SessionUpdated, TurnEnded
from everyagent.testing.daemon import DaemonProcess

TOUCH = {"command": "touch made.txt"}


def made(session: AmpSession) -> bool:
    return (session.workspace / "made.txt").exists()


def create(path: Path) -> dict[str, object]:
    return {"path": str(path), "content": "x"}


def user_settings(session: AmpSession, **settings: object) -> None:
    folder = session.home / ".config" / "amp"
    folder.mkdir(parents=True)
    written = json.dumps({f"amp.{name}": value for name, value in settings.items()})
    (folder / "settings.json").write_text(f"// mine\n{written[:-1]},\n}}")


def directory_settings(session: AmpSession, **settings: object) -> None:
    (session.workspace / ".amp").mkdir()
    written = json.dumps({f"amp.{name}": value for name, value in settings.items()})
    (session.workspace / ".amp" / "settings.json").write_text(written)


# -- asking -------------------------------------------------------------------------------------------------------


def test_a_permission_given_once_lets_the_tool_run(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Made."))
    session.create().send("Make it")
    asked = session.next(PermissionRequested)
    assert (asked.tool, asked.action, asked.input) == ("shell_command", "shell_command", TOUCH)
    assert asked.options == ["once", "always", "reject"]
    assert asked.item_id == session.items("tool_call")[0].item_id
    assert session.info()["status"] == "waiting"
    assert not made(session)
    session.permit(asked.permission_id, "once")
    session.next(TurnEnded)
    assert made(session)
    assert session.replies() == ["Made."]


def test_a_permission_given_once_is_asked_for_again(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", TOUCH), call("shell_command", TOUCH), say("Made."))
    session.create().send("Make it twice")
    session.permit(session.next(PermissionRequested, 1).permission_id, "once")
    session.permit(session.next(PermissionRequested, 2).permission_id, "once")
    session.next(TurnEnded)
    assert session.replies() == ["Made."]


def test_an_always_permission_covers_only_the_same_command(session: AmpSession) -> None:
    other = {"command": "touch other.txt"}
    session.model.script.add(
        call("shell_command", TOUCH), call("shell_command", TOUCH), call("shell_command", other), say("Made.")
    )
    session.create().send("Make them")
    asked = session.next(PermissionRequested)
    assert asked.suggestions == [{"tool": "shell_command", "detail": "touch made.txt"}]
    session.permit(asked.permission_id, "always")
    assert session.next(PermissionRequested, 2).input == other
    session.permit(session.next(PermissionRequested, 2).permission_id, "reject")
    session.next(TurnEnded)
    assert len(session.all(PermissionRequested)) == 2


def test_an_always_permission_survives_a_restart_of_the_daemon(session: AmpSession, daemon: DaemonProcess) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Made."), call("shell_command", TOUCH), say("Again."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "always")
    session.next(TurnEnded)
    daemon.kill()
    daemon.start()
    assert session.turn("Make it again").stop_reason == "end_turn"
    assert len(session.all(PermissionRequested)) == 1
    assert session.replies() == ["Made.", "Again."]


def test_the_reason_of_a_rejection_reaches_the_model_and_the_turn_continues(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Then not."))
    session.create().send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "reject", "Not in this folder")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert not made(session)
    assert session.items("tool_result")[0].status == "failed"
    assert "Not in this folder" in session.outputs()[0]
    assert "Not in this folder" in session.thread_text()


def test_concurrent_permissions_are_answered_separately(session: AmpSession) -> None:
    paths = [session.workspace / name for name in ("one.txt", "two.txt")]
    session.model.script.add(calls(*[("create_file", create(path)) for path in paths]), say("One of two."))
    session.create().send("Write both")
    for asked in (session.next(PermissionRequested, 1), session.next(PermissionRequested, 2)):
        session.permit(asked.permission_id, "once" if "one.txt" in str(asked.input) else "reject")
    session.next(TurnEnded)
    assert [path.exists() for path in paths] == [True, False]


def test_cancelling_a_turn_denies_its_pending_permission(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Next."))
    session.create().send("Make it")
    session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(PermissionResolved).status == "denied"
    assert session.turn("Something else").stop_reason == "end_turn"
    assert not made(session)


def test_a_call_is_not_made_if_the_daemon_is_killed_before_the_answer(
    session: AmpSession, daemon: DaemonProcess
) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Back."))
    session.create().send("Make it")
    session.next(PermissionRequested)
    daemon.kill()
    daemon.start()
    assert session.next(TurnEnded).stop_reason == "error"
    session.until(lambda: not session.agents())
    assert not made(session)
    session.cancel()
    assert session.next(PermissionResolved).status == "denied"
    assert session.turn("Again").stop_reason == "end_turn"


def test_a_call_is_rejected_while_the_daemon_is_unreachable(session: AmpSession) -> None:
    """Amp runs, but its hook finds no socket. The next process finds the daemon again."""
    session.model.script.add(
        say("One."), call("shell_command", TOUCH), say("Nobody there."), fail("Oh"), call("shell_command", TOUCH)
    )
    session.create(permissionMode="bypass").turn("one")
    for script in Path(session.daemon.data_dir, "scratch").glob("*/amp/asked"):
        Path(script.read_text().split()[-4]).unlink(missing_ok=True)
    assert session.turn("Make it").stop_reason == "end_turn"
    assert "daemon is away" in session.outputs()[0]
    assert not made(session)
    assert session.turn("Fail").stop_reason == "error"
    session.turn("Make it")
    assert made(session)


def test_tools_of_a_sub_agent_need_permission_though_amp_does_not_report_them(session: AmpSession) -> None:
    session.model.script.add(Reply(text="My helper made it.", subagent_call=Call("shell_command", TOUCH)))
    session.create().send("Use a helper")
    asked = session.next(PermissionRequested)
    assert (asked.input, asked.item_id) == (TOUCH, None)
    session.permit(asked.permission_id, "once")
    session.next(TurnEnded)
    assert made(session)
    assert session.items("tool_call") == []


def test_reading_a_file_needs_no_permission(session: AmpSession) -> None:
    (session.workspace / "a.txt").write_text("words")
    session.model.script.add(call("Read", {"path": str(session.workspace / "a.txt")}), say("Words."))
    session.create().turn("Read it")
    assert session.all(PermissionRequested) == []


# -- modes --------------------------------------------------------------------------------------------------------


def test_accept_edits_covers_only_files_of_the_workspace(session: AmpSession, tmp_path: Path) -> None:
    (session.workspace / "link").symlink_to(tmp_path)
    inside, guarded = session.workspace / "in.txt", session.workspace / ".amp" / "settings.json"
    outside = [tmp_path / "out.txt", session.workspace / "link" / "linked.txt", guarded]
    session.model.script.add(*[call("create_file", create(path)) for path in (inside, *outside)], say("Done."))
    session.create(permissionMode="acceptEdits").send("Write them")
    for number in (1, 2, 3):
        session.permit(session.next(PermissionRequested, number).permission_id, "reject")
    session.next(TurnEnded)
    assert inside.exists()
    assert not any(path.exists() for path in outside)


def test_accept_edits_does_not_cover_commands(session: AmpSession) -> None:
    session.model.script.add(call("shell_command", TOUCH), say("Asked."))
    session.create(permissionMode="acceptEdits").send("Make it")
    session.permit(session.next(PermissionRequested).permission_id, "reject")
    session.next(TurnEnded)
    assert not made(session)


@pytest.mark.parametrize("choice", [{"permissionMode": "plan"}, {"agentMode": "plan", "permissionMode": "bypass"}])
def test_plan_mode_changes_nothing(session: AmpSession, choice: dict[str, object]) -> None:
    session.model.script.add(
        calls(("shell_command", TOUCH), ("create_file", create(session.workspace / "made.txt"))), say("A plan.")
    )
    session.create(env=None, **choice).turn("Make it")
    assert session.all(PermissionRequested) == []
    assert all("plan mode" in output for output in session.outputs())
    assert not made(session)


def test_bypass_mode_asks_for_nothing(session: AmpSession, tmp_path: Path) -> None:
    session.model.script.add(
        calls(("shell_command", TOUCH), ("create_file", create(tmp_path / "out.txt"))), say("Made.")
    )
    session.create(permissionMode="bypass", isolation="none").turn("Make it")
    assert session.all(PermissionRequested) == []
    assert made(session)
    assert (tmp_path / "out.txt").exists()


def test_a_mode_change_takes_effect_without_a_restart(session: AmpSession) -> None:
    session.model.script.add(say("One."), call("shell_command", TOUCH), say("Made."))
    session.create(permissionMode="plan").turn("one")
    pids = session.agents()
    session.change(permissionMode="bypass")
    session.turn("Make it")
    assert made(session)
    assert session.agents() == pids
    assert "hibernated" not in [each.status for each in session.all(SessionUpdated)]


# -- Amp's own settings -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["default", "acceptEdits", "bypass"])
def test_a_reject_rule_of_the_users_settings_applies_in_every_mode(session: AmpSession, mode: str) -> None:
    user_settings(
        session,
        permissions=[
            {"tool": "Bash", "action": "reject", "matches": {"cmd": "touch*"}},
            {"tool": "*", "action": "ask"},
        ],
        dangerouslyAllowAll=True,
    )
    session.model.script.add(call("shell_command", TOUCH), say("I may not."))
    session.create(permissionMode=mode).turn("Make it")
    assert session.all(PermissionRequested) == []
    assert session.items("tool_result")[0].status == "failed"
    assert not made(session)


def test_allow_and_ask_rules_of_the_users_settings_apply(session: AmpSession, tmp_path: Path) -> None:
    user_settings(
        session,
        permissions=[
            {"tool": "shell_command", "action": "allow", "matches": {"command": "touch made.txt"}},
            {"tool": "create_file", "action": "allow"},
            {"tool": "Read", "action": "ask"},
        ],
        dangerouslyAllowAll=True,
    )
    home = session.workspace
    session.model.script.add(
        calls(("shell_command", TOUCH), ("create_file", create(home / "in.txt"))),
        call("create_file", create(tmp_path / "out.txt")),
        call("Read", {"path": str(home / "in.txt")}),
        call("shell_command", {"command": "touch other.txt"}),
        say("Done."),
    )
    session.create().send("Go")
    for number in (1, 2, 3):
        session.permit(session.next(PermissionRequested, number).permission_id, "reject")
    session.next(TurnEnded)
    assert made(session)
    assert (home / "in.txt").exists()
    assert [asked.tool for asked in session.all(PermissionRequested)] == ["create_file", "Read", "shell_command"]


def test_directory_settings_that_allow_everything_are_refused(session: AmpSession) -> None:
    directory_settings(session, dangerouslyAllowAll=True)
    session.model.script.add(say("Hello."))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    assert "amp.dangerouslyAllowAll" in session.all(Error)[0].message
    session.change(permissionMode="bypass")
    assert session.turn("Hello").stop_reason == "end_turn"


def test_unreadable_user_settings_are_an_error(session: AmpSession) -> None:
    folder = session.home / ".config" / "amp"
    folder.mkdir(parents=True)
    (folder / "settings.json").write_text('{"amp.permissions": [')
    assert session.create().turn("Hello").stop_reason == "error"
    assert "settings.json" in session.all(Error)[0].message
