"""Agents of the user's own: settings, files and terminals of the client, modes, restarts."""

import base64
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from own_session import FAKE, UNABLE, OwnSession
from recorded_agents import AcpPlayer, exchanges
from tests.agents.exported_case import made
from tests.agents.sequenced_session import violations
from tests.agents.stage import daemon_of, daemon_with_runner
from tests.managed.raw import TOOLSET, Raw, texts

from everyagent.agents.registry import ACP_AGENTS
from everyagent.cli.sessions.case import write_case
from everyagent.client import Client
from everyagent.model.events import (
    Error,
    PermissionRequested,
    PermissionResolved,
    SessionUpdated,
    TurnEnded,
    Unparsed,
)
from everyagent.model.parts import FileRefPart, JsonPart, StatusPart, ToolResultPart
from everyagent.testing.daemon import TOKEN, DaemonProcess


def cli(daemon: DaemonProcess, config: Path, *words: str) -> subprocess.CompletedProcess[str]:
    given = {**os.environ, "EVERYAGENT_CONFIG": str(config), "EVERYAGENT_TOKEN": TOKEN}
    return subprocess.run(
        [sys.executable, "-m", "everyagent", "agents", *words], env=given, capture_output=True, text=True, timeout=120
    )


def agents(session: OwnSession) -> dict[str, dict[str, object]]:
    listed = msgspec.json.decode(session.call("GET", "/agents").content)["agents"]
    return {each["id"]: each for each in listed}


def test_agents_of_the_users_own_are_listed_beside_the_known_ones(session: OwnSession) -> None:
    listed = agents(session.create())
    assert (listed["mine"]["title"], listed["mine"]["installed"]) == ("My agent", True)
    assert (listed["gone"]["installed"], "no program" in str(listed["gone"]["problem"])) == (False, True)
    assert {"claude", *ACP_AGENTS} <= set(listed)
    session.said("say hi")
    assert agents(session)["mine"]["version"] == "0.3.1"


def test_an_agent_that_is_added_is_there_at_once_and_can_be_checked(
    session: OwnSession, own_daemon: DaemonProcess, config: Path
) -> None:
    added = cli(own_daemon, config, "add", "later", "--title", "Later", "--", sys.executable, str(FAKE))
    assert added.returncode == 0, added.stderr
    assert agents(session)["later"]["title"] == "Later"
    session.create(agent="later")
    assert session.said("say It works") == "It works"
    checked = cli(own_daemon, config, "check", "later", "--url", own_daemon.url, "--json")
    report = {each["what"]: each["seen"] for each in msgspec.json.decode(checked.stdout)}
    assert (report["a turn ends"], report["messages"], report["its work is done"]) == (True, True, False)
    assert (report["the order rules hold"], report["no unknown frames"]) == (True, True)
    assert checked.returncode == 1
    again = cli(own_daemon, config, "add", "later", "--", "x")
    assert (again.returncode, "already" in again.stderr) == (2, True)


def test_a_check_finds_what_an_agent_does_and_what_it_must_not_do(
    own_daemon: DaemonProcess, config: Path, tmp_path: Path
) -> None:
    def checked(agent: str) -> tuple[int, dict[str, bool | None]]:
        done = cli(own_daemon, config, "check", agent, "--url", own_daemon.url, "--json")
        return done.returncode, {each["what"]: each["seen"] for each in msgspec.json.decode(done.stdout)}

    code, report = checked("obedient")
    assert [what for what, seen in report.items() if seen is False] == []
    assert code == 0
    steps = ("a rejected call does not run", "tool policies hold", "tools of an MCP server")
    assert [report[step] for step in steps] == [True] * 3
    assert report["a session goes on after its agent ended"]
    assert report["a session goes on after its agent was killed"]
    assert (report["no process is left (SIGKILL)"], report["files and terminals of the daemon"]) == (True, True)
    code, report = checked("defiant")
    assert code == 1
    assert [report[step] for step in steps[:2]] == [False] * 2


def test_the_agent_reads_and_writes_files_of_the_sessions_directory_only(session: OwnSession, tmp_path: Path) -> None:
    session.create()
    (session.workspace / "notes.txt").write_text("alpha\nbeta\n")
    (session.workspace / "way-out").symlink_to(tmp_path)
    (tmp_path / "secret").write_text("hidden")
    assert session.said(f"read {session.workspace}/notes.txt") == 'Read {"content": "alpha\\nbeta\\n"}'
    assert "inside the session" in session.said(f"read {tmp_path}/secret")
    assert "hidden" not in session.said(f"read {session.workspace}/way-out/secret")
    session.said(f"write {session.workspace}/new/file.txt made by the agent")
    assert (session.workspace / "new" / "file.txt").read_text() == "made by the agent"
    session.said(f"write {tmp_path}/outside.txt no")
    assert not (tmp_path / "outside.txt").exists()


def test_a_file_that_cannot_be_served_is_an_error_of_the_request_only(session: OwnSession) -> None:
    session.create()
    (session.workspace / "folder").mkdir()
    os.mkfifo(session.workspace / "pipe")
    (session.workspace / "plain").write_text("plain")

    def refused(method: str, **params: object) -> str:
        path = params.pop("path", None)
        named = {} if path is None else {"path": f"{session.workspace}/{path}"}
        problem = session.said(f"call {method} {msgspec.json.encode({**named, **params}).decode()}")
        return str(msgspec.json.decode(problem)["message"])

    assert "is not a regular file" in refused("fs/read_text_file", path="folder")
    assert "is not a regular file" in refused("fs/read_text_file", path="pipe")
    assert "null" in refused("fs/read_text_file", path="a\0b")
    assert "No such file" in refused("fs/read_text_file", path="missing")
    assert "Is a directory" in refused("fs/write_text_file", path="folder", content="x")
    assert "No such device" in refused("fs/write_text_file", path="pipe", content="x")
    assert "null" in refused("fs/write_text_file", path="f\0/b", content="x")
    assert "Not a directory" in refused("fs/write_text_file", path="plain/b", content="x")
    assert "null" in refused("terminal/create", command="true", cwd=f"{session.workspace}/\0")
    assert "NUL" in refused("terminal/create", command="tr\0ue")
    assert session.all(Error) == []


def test_the_daemon_runs_commands_for_the_agent(session: OwnSession) -> None:
    assert session.create().said("terminal echo out; echo err >&2; exit 3") == "Exit 3: out\nerr\n"
    (result,) = session.items("tool_result")
    (part,) = [part for part in result.content if isinstance(part, ToolResultPart)]
    assert (part.output, part.exit_code) == ("out\nerr\n", 3)


def test_tool_policies_hold_for_what_the_agent_asks_for_and_for_files_and_terminals(session: OwnSession) -> None:
    session.create(agent="asking", permissionMode="bypass", toolPolicies={"tools": {"bash": "deny", "write": "ask"}})
    assert "Outcome noRefused The session's tool policies do not allow bash" in session.said("asked touch made")
    assert "Request a permission" in session.said(f"write {session.workspace}/made no")
    session.change(toolPolicies={"tools": {"bash": "ask"}})
    assert session.said("terminal touch made").startswith("Refused The session's tool policies ask for bash")
    assert not (session.workspace / "made").exists()
    session.send("asked touch made")
    session.permit(session.next(PermissionRequested).permission_id, "once")
    session.next(TurnEnded, 4)
    assert (session.workspace / "made").exists()
    problem = session.call(
        "PATCH", f"/sessions/{session.id}", {"toolPolicies": {"tools": {"read": "deny"}}}, expect=400
    )
    assert "cannot be enforced on asking's tool 'read'" in problem.json()["detail"]


def test_an_agent_that_says_nothing_of_its_tools_has_no_policies(session: OwnSession) -> None:
    session.create()
    problem = session.call("PATCH", f"/sessions/{session.id}", {"toolPolicies": {"default": "deny"}}, expect=400)
    assert problem.json()["code"] == "not_supported"


def test_terminals_are_limited_killed_and_inside_the_sessions_directory(session: OwnSession, tmp_path: Path) -> None:
    killed, output, truncated, outside, unknown = msgspec.json.decode(session.create().said(f"terminals {tmp_path}"))
    assert (killed["exitCode"], killed["signal"] in ("SIGTERM", "SIGKILL")) == (None, True)
    assert (output, truncated) == ("x" * 9 + "\n", True)
    assert "is not inside the session's directory" in outside["message"]
    assert "no terminal 'no-such'" in unknown["message"]


def test_the_output_of_a_terminal_is_the_commands_own_bytes(session: OwnSession) -> None:
    released, *outputs = msgspec.json.decode(session.create().said("outputs"))
    assert "no terminal" in released
    assert outputs == ["no-end", "a\r\nb\n", "99\n200000\n"]


def test_a_terminal_counts_until_it_is_released(session: OwnSession) -> None:
    count, problem, again = msgspec.json.decode(session.create().said("many"))
    assert (count, "64 terminals are open" in problem) == (64, True)
    assert again["terminalId"] == "terminal-65"


def test_an_agent_is_authenticated_by_the_method_of_its_settings(session: OwnSession) -> None:
    assert session.create(agent="keyed").said("say In") == "In"


def test_a_session_at_rest_is_closed_and_goes_on_with_its_native_history(tmp_path: Path, config: Path) -> None:
    with (
        daemon_of(tmp_path, "--idle-timeout", "0.2", EVERYAGENT_CONFIG=str(config), HOME=str(tmp_path)) as daemon,
        OwnSession(daemon, tmp_path).played() as session,
    ):
        session.create().said("say one")
        session.until(lambda: session.info()["status"] == "hibernated" or None)
        session.until(lambda: not session.processes("fake_acp") or None)
        assert session.kept.with_suffix(".closed").read_text() == "s-1"
        assert session.said("history") == "2 prompts: say one | history"


def test_a_runner_has_the_agents_of_its_own_settings(tmp_path: Path, config: Path) -> None:
    with (
        daemon_with_runner(tmp_path, EVERYAGENT_CONFIG=str(config), HOME=str(tmp_path)) as daemon,
        OwnSession(daemon, tmp_path).played() as session,
    ):
        assert session.create().said("say I am elsewhere") == "I am elsewhere"


def test_managed_agents_run_agents_of_the_users_own(own_daemon: DaemonProcess) -> None:
    raw = Raw(own_daemon)
    raw.create(TOOLSET, agent="mine", model="mine")
    raw.say("say Managed")
    raw.wait_idle("end_turn")
    assert '"text": "Managed"' in texts(raw.events())
    raw.close()


def test_in_plan_mode_nothing_is_changed(session: OwnSession) -> None:
    session.create(permissionMode="plan")
    assert "plan mode" in session.said("terminal touch made")
    assert session.said("ask touch made") == "Outcome no"
    assert not (session.workspace / "made").exists()


@pytest.mark.parametrize(
    ("mode", "reply", "outcome"),
    [("default", "once", "yes"), ("default", "always", "always"), ("default", "reject", "no")],
)
def test_a_permission_is_answered_by_the_kind_of_its_options(
    session: OwnSession, mode: str, reply: str, outcome: str
) -> None:
    session.create(permissionMode=mode).send("ask ls")
    asked = session.next(PermissionRequested)
    assert (asked.tool, asked.input, asked.options) == ("bash", {"command": "ls"}, ["once", "always", "reject"])
    session.permit(asked.permission_id, reply)
    session.next(TurnEnded)
    assert session.replies() == [f"Outcome {outcome}"]


def test_bypass_answers_what_the_agent_asks_all_the_same(session: OwnSession) -> None:
    assert session.create(permissionMode="bypass").said("ask ls") == "Outcome yes"
    assert session.all(PermissionRequested) == []


def test_a_cancel_answers_open_permissions(session: OwnSession) -> None:
    session.create().send("ask ls")
    session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.said("say And now?") == "And now?"


def test_a_request_that_the_agent_withdraws_is_resolved(session: OwnSession) -> None:
    said = session.create().said("withdraw touch made")
    assert said == 'Withdrawn {"outcome": {"outcome": "cancelled"}}'
    (resolved,) = session.all(PermissionResolved)
    assert (resolved.status, resolved.message) == ("denied", "My agent withdrew it.")
    assert session.all(Unparsed) == []


def test_modes_that_share_one_of_the_agents_own_are_told_apart(session: OwnSession) -> None:
    session.create(agent="shared", permissionMode="acceptEdits").said("say hi")
    for own, universal in (("yolo", "bypass"), ("ask", "acceptEdits")):
        session.turn(f"mode {own}")
        assert session.info()["permissionMode"] == universal


def test_a_model_that_the_agent_changes_by_itself_is_reported_and_its_own_options_are_shown(
    session: OwnSession,
) -> None:
    session.create()
    for model in ("small", "large"):
        session.turn(f"options {model}")
    assert [each.model for each in session.all(SessionUpdated) if each.model] == ["large"]
    assert session.info()["model"] == "large"
    (shown,) = [item for item in session.items("status") if item.name == "options"]
    assert shown.content == [StatusPart(label="Extra", detail="on")]


def test_a_model_that_the_agent_refused_is_replaced_by_the_one_that_it_reports(session: OwnSession) -> None:
    session.create(agent="choosy").said("say hi")
    session.change(model="large")
    session.turn("options small")
    assert [each.model for each in session.all(SessionUpdated) if each.model] == ["large", "small"]
    assert session.info()["model"] == "small"


def test_content_of_results_that_is_no_text_is_kept(session: OwnSession) -> None:
    session.create().turn("parts")
    (result,) = session.items("tool_result")
    text, *others = result.content
    assert isinstance(text, ToolResultPart)
    assert text.output == "Made.\n Quoted."
    assert others == [
        FileRefPart(path="/src/a.py", action="read"),
        JsonPart(json={"type": "audio", "mimeType": "audio/wav", "data": "AAAA"}),
        JsonPart(json={"type": "resource", "uri": "x:1", "mimeType": "a/b", "data": "BBBB"}),
    ]


def test_the_system_prompt_goes_first(session: OwnSession) -> None:
    session.create(systemPrompt="Be brief.")
    assert session.said("history") == "1 prompts: Be brief.\nhistory"


def test_only_named_variables_of_the_daemon_reach_the_agent(session: OwnSession) -> None:
    session.create(env={"GIVEN": "yes"})
    assert session.said("environment GIVEN") == "GIVEN=yes"
    assert session.said("environment EVERYAGENT_TOKEN") == "EVERYAGENT_TOKEN=None"
    assert session.said("environment EVERYAGENT_CONFIG") == "EVERYAGENT_CONFIG=None"


def test_a_session_goes_on_with_its_native_history_after_its_agent_was_killed(session: OwnSession) -> None:
    session.create().said("say one")
    session.killed()
    assert session.said("history") == "2 prompts: say one | history"


@pytest.mark.parametrize("agent", UNABLE)
def test_a_session_that_cannot_be_loaded_goes_on_with_the_logs_transcript(session: OwnSession, agent: str) -> None:
    session.create(agent=agent).said("say The word is swordfish.")
    session.killed()
    told = session.said("history")
    assert told.startswith("1 prompts: ")
    assert "The word is swordfish." in told
    assert [(error.details or {}).get("history_lost") for error in session.all(Error)] == [None, True]
    session.killed()
    assert "swordfish" in session.said("history"), "the second native session is lost, too"


def test_a_login_that_expired_does_not_cost_the_native_session(session: OwnSession) -> None:
    session.create(agent="expired").said("say one")
    native = session.info()["nativeSessionId"]
    session.killed()
    session.failed()
    assert [error.code for error in session.all(Error)] == ["agent_crashed", "auth"]
    assert session.info()["nativeSessionId"] == native


def test_attached_files_are_readable_also_if_they_have_one_name(session: OwnSession, tmp_path: Path) -> None:
    """Behind a wall, only files that the daemon copied are there."""
    data = [base64.b64encode(text).decode() for text in (b"first", b"second")]
    paths: list[dict[str, object]] = []
    for text in ("third", "fourth"):
        folder = tmp_path / text
        folder.mkdir()
        (folder / "notes.txt").write_text(text)
        paths.append({"path": str(folder / "notes.txt")})
    session.create().send("attached", attachments=[*({"data": each, "filename": "a.txt"} for each in data), *paths])
    session.next(TurnEnded)
    assert session.replies() == ["first | second | third | fourth"]


def test_a_session_becomes_a_test_case_that_gives_the_same_events(session: OwnSession, tmp_path: Path) -> None:
    session.create(permissionMode="bypass").said("say It was me@here.org with sk-abcdefghijklmnopqrstuvwxyz")
    session.said("terminal echo made in $PWD")
    folder = tmp_path / "case"
    with Client(session.daemon.url, TOKEN) as client:
        frames = write_case(client, session.id, folder)
        events = list(client.events(session.id, follow=False))
        with pytest.raises(FileExistsError):
            write_case(client, session.id, folder)
    text = (folder / "frames.jsonl").read_text()
    assert len(text.splitlines()) == frames
    assert "made in /workspace" in text
    assert str(session.workspace) not in text
    assert "It was user@example.org with [secret token]" in text
    played = AcpPlayer("mine").play(exchanges("mine", str(folder)))
    assert not violations(played)
    assert made(played) == made(events)


def test_the_trace_of_a_message_is_given_to_the_agent(session: OwnSession) -> None:
    session.create()
    traceparent = f"00-{'ab' * 16}-{'cd' * 8}-01"
    assert session.turn("say hi", traceparent=traceparent).stop_reason == "end_turn"
    frames = msgspec.json.decode(session.call("GET", f"/sessions/{session.id}/frames?limit=1000").content)["frames"]
    (prompt,) = [each["body"] for each in frames if "session/prompt" in str(each["body"])]
    assert prompt["params"]["_meta"] == {"traceparent": traceparent}
