"""`everyagent acp`, driven by the official client library of the Agent Client Protocol."""

import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import anyio
import msgspec
import pytest
from acp import (
    RequestError,
    embedded_text_resource,
    image_block,
    resource_block,
    resource_link_block,
    text_block,
)
from acp.schema import EnvVariable, McpServerStdio, PermissionOption, ToolCallUpdate
from acp_editor import Editor, running
from command_line import COMMAND, Daemon, environment
from tests.compat.rows import compat_row, passed
from tests.node_packages import npm_packages, run_module
from tests.waiting import LIMIT_SECONDS

from everyagent.client import Client
from everyagent.client.turn import Answer, Ask
from everyagent.model.asks import PermissionAnswer, QuestionAnswer
from everyagent.model.events import QuestionRequested
from everyagent.model.parts import FileRefPart, ToolResultPart
from everyagent.testing.daemon import TOKEN, DaemonProcess
from everyagent.testing.rules import check

row = compat_row("acp-python")


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


@pytest.fixture
def settings(daemon: Daemon) -> dict[str, str]:
    return environment(daemon.data_dir)


@pytest.fixture
async def editor(settings: dict[str, str], tmp_path: Path) -> AsyncGenerator[Editor]:
    async with running(Editor(), settings, "mock") as editor:
        await editor.open(tmp_path)
        yield editor


async def until_cancelled(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
    await anyio.sleep_forever()
    return None


async def test_a_turn_with_every_kind_of_update(editor: Editor, tmp_path: Path) -> None:
    ended = await editor.prompt("[reasoning] [ask] [diff] [plan]")
    assert (ended.stop_reason, ended.usage is not None) == ("end_turn", True)
    assert "I think" in editor.text("agent_thought_chunk")
    assert "I have thought about it." in editor.text()
    asked, edit = editor.of("tool_call")
    ends = [each for each in editor.of("tool_call_update") if each.status == "completed"]
    (done,) = [each for each in ends if each.tool_call_id == asked.tool_call_id]
    (changed,) = [each for each in ends if each.tool_call_id == edit.tool_call_id]  # the calls end in any order
    assert (asked.kind, done.content[0].content.text, done.raw_output["exitCode"]) == ("execute", "permitted\n", 0)
    assert edit.kind == "edit"
    assert (changed.content[0].path, changed.content[0].new_text) == (str(tmp_path / "mock.txt"), "A line of the mock.")
    assert [entry.status for entry in editor.of("plan")[-1].entries] == ["completed"] * 3
    assert not editor.of("user_message_chunk")  # the editor knows what its user typed


async def test_a_rejected_call_does_not_run(editor: Editor, tmp_path: Path) -> None:
    async def reject(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        return next(option.option_id for option in options if option.kind == "reject_once")

    editor.reply = reject
    assert (await editor.prompt('[ask command="touch made"]')).stop_reason == "end_turn"
    assert editor.of("tool_call_update")[-1].status == "failed"
    assert not (tmp_path / "made").exists()


async def test_a_permission_answered_by_another_client_is_withdrawn(editor: Editor, client: Client) -> None:
    withdrawn = anyio.Event()

    async def wait(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        (ask,) = await anyio.to_thread.run_sync(client.asks, editor.session)
        await anyio.to_thread.run_sync(client.reply_permission, editor.session, ask.ask_id, "once")
        await withdrawn.wait()
        return "reject"

    editor.reply = wait
    assert (await editor.prompt("[ask]")).stop_reason == "end_turn"
    withdrawn.set()
    assert editor.of("tool_call_update")[-1].status == "completed"
    editor.reply = Editor().reply
    assert (await editor.prompt("Still here?")).stop_reason == "end_turn"


async def test_messages_and_settings_of_other_clients_are_shown(editor: Editor, client: Client) -> None:
    await anyio.to_thread.run_sync(client.send, editor.session, "From the inspector")
    assert (await editor.seen("user_message_chunk")).content.text == "From the inspector"
    await editor.seen("agent_message_chunk", lambda update: "inspector" in update.content.text)
    await anyio.to_thread.run_sync(lambda: client.update(editor.session, permission_mode="plan", title="Renamed"))
    assert (await editor.seen("current_mode_update")).current_mode_id == "plan"
    assert (await editor.seen("session_info_update")).title == "Renamed"
    options = (await editor.seen("config_option_update")).config_options
    assert {option.id: option.current_value for option in options}["mode"] == "plan"


async def test_modes_models_and_variants_can_be_chosen(editor: Editor, client: Client) -> None:
    await editor.conn.set_session_mode(session_id=editor.session, mode_id="acceptEdits")
    await editor.conn.set_config_option(session_id=editor.session, config_id="model", value="mock-large")
    changed = await editor.conn.set_config_option(session_id=editor.session, config_id="variant", value="high")
    assert changed
    current = {option.id: option.current_value for option in changed.config_options}
    assert current == {"mode": "acceptEdits", "agent_mode": "build", "model": "mock-large", "variant": "high"}
    info = client.session(editor.session)
    assert (info.permission_mode, info.model, info.variant) == ("acceptEdits", "mock-large", "high")
    with pytest.raises(RequestError, match="no option"):
        await editor.conn.set_config_option(session_id=editor.session, config_id="colour", value="red")
    with pytest.raises(RequestError, match="fantasy"):
        await editor.conn.set_session_mode(session_id=editor.session, mode_id="fantasy")


async def test_cancel_ends_the_turn_and_keeps_the_session(editor: Editor) -> None:
    async with anyio.create_task_group() as tasks:

        async def cancel() -> None:
            await editor.seen("agent_message_chunk")
            await editor.conn.cancel(session_id=editor.session)

        tasks.start_soon(cancel)
        assert (await editor.prompt("[slow seconds=600]")).stop_reason == "cancelled"
    assert (await editor.prompt("Once more")).stop_reason == "end_turn"


@pytest.mark.parametrize("by", ["another client", "the editor"])
async def test_a_prompt_that_is_withdrawn_from_the_queue_is_cancelled(editor: Editor, client: Client, by: str) -> None:
    await anyio.to_thread.run_sync(client.send, editor.session, "[slow seconds=600]")
    await editor.seen("agent_message_chunk")
    ends: list[str] = []

    async def prompt() -> None:
        ends.append((await editor.prompt("Wait for your turn")).stop_reason)

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(prompt)
        while not (waiting := await anyio.to_thread.run_sync(client.queue, editor.session)):
            await anyio.sleep(0.05)
        if by == "the editor":
            await editor.conn.cancel(session_id=editor.session)
        else:
            await anyio.to_thread.run_sync(client.withdraw, editor.session, waiting[0].item_id)
    assert ends == ["cancelled"]
    await anyio.to_thread.run_sync(client.cancel, editor.session)
    assert (await editor.prompt("Once more")).stop_reason == "end_turn"
    assert "Wait for your turn" not in editor.text()


async def test_a_cancelled_permission_cancels_the_turn(editor: Editor) -> None:
    async def cancel(call: ToolCallUpdate, options: list[PermissionOption]) -> str | None:
        return None

    editor.reply = cancel
    assert (await editor.prompt("[ask]")).stop_reason == "cancelled"


async def test_a_failed_turn_is_an_error_with_its_reason(editor: Editor) -> None:
    with pytest.raises(RequestError, match="No more tokens today"):
        await editor.prompt('[error code=rate_limited message="No more tokens today"]')


@pytest.mark.parametrize("form", [{"question_1": "Green", "question_2": ["Docs", "Tests"]}, None])
async def test_questions_are_forms_or_choices(
    form: dict[str, object] | None, settings: dict[str, str], tmp_path: Path
) -> None:
    """An editor that has no forms gets one choice after the other."""
    async with running(Editor(form=form), settings, "mock") as editor:
        await editor.open(tmp_path)
        await editor.prompt("[question]")
        assert editor.text() == f"You answered: {'Green; Docs, Tests' if form else 'Red; Tests'}."


async def test_images_files_and_servers_are_handed_over(editor: Editor, client: Client, tmp_path: Path) -> None:
    server = McpServerStdio(name="docs", command="docs", args=["-v"], env=[EnvVariable(name="A", value="b")])
    opened = await editor.conn.new_session(cwd=str(tmp_path), mcp_servers=[server])
    assert list(client.session(opened.session_id).mcp) == ["docs"]
    await editor.conn.prompt(
        session_id=opened.session_id,
        prompt=[
            text_block("Look at "),
            resource_link_block(name="a", uri="file:///src/a%20b.py"),
            resource_block(embedded_text_resource(uri="file:///src/c.py", text="print(1)")),
            image_block(PNG, "image/png"),
        ],
    )
    said = next(event for event in client.events(opened.session_id, follow=False) if event.type == "item.completed")
    text = msgspec.json.encode(said).decode()
    assert "Look at @/src/a b.py@/src/c.py" in text
    assert "print(1)" in text
    assert "image/png" in text


async def test_a_session_is_listed_and_loaded_after_the_editor_was_killed(
    settings: dict[str, str], tmp_path: Path
) -> None:
    async with running(Editor(until_cancelled), settings, "mock") as first:
        session = await first.open(tmp_path)
        await first.prompt("Hello [tool command=pwd]")
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(first.prompt, "[ask]")
            await first.seen("tool_call_update", lambda update: update.title == "echo permitted")
            tasks.cancel_scope.cancel()
    async with running(Editor(), settings, "mock") as second:
        listed = (await second.conn.list_sessions(cwd=str(tmp_path))).sessions
        assert [(each.session_id, each.cwd) for each in listed] == [(session, str(tmp_path))]
        opened = await second.conn.load_session(session_id=session, cwd=str(tmp_path), mcp_servers=[])
        assert opened.modes
        assert opened.modes.current_mode_id == "default"
        assert second.text("user_message_chunk") == "Hello [tool command=pwd][ask]"
        assert second.text().startswith(first.text())
        assert len(second.of("agent_message_chunk")) <= len(first.of("agent_message_chunk"))
        calls = {update.tool_call_id for update in second.of("tool_call")}
        assert calls == {update.tool_call_id for update in first.of("tool_call")}
        # The permission that the first editor left open is asked again, and the turn goes on.
        await second.seen("tool_call_update", lambda u: bool(u.content) and u.content[0].content.text == "permitted\n")
        second.session = session
        assert (await second.prompt("And now?")).stop_reason == "end_turn"


async def test_sessions_are_resumed_forked_closed_and_deleted(editor: Editor, client: Client, tmp_path: Path) -> None:
    await editor.prompt("Remember me")
    editor.updates.clear()
    await editor.conn.resume_session(session_id=editor.session, cwd=str(tmp_path), mcp_servers=[])
    assert not editor.updates
    fork = await editor.conn.fork_session(session_id=editor.session, cwd=str(tmp_path), mcp_servers=[])
    assert fork.session_id != editor.session
    assert client.session(fork.session_id).forked_from
    await editor.conn.close_session(session_id=editor.session)
    assert not client.session(editor.session).ended
    assert (await editor.prompt("Back again")).stop_reason == "end_turn"
    await editor.conn._conn.send_request("session/delete", {"sessionId": fork.session_id})
    with pytest.raises(RequestError, match=fork.session_id):
        await editor.conn.load_session(session_id=fork.session_id, cwd=str(tmp_path), mcp_servers=[])


async def test_a_daemon_that_was_killed_is_found_again(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data")
    daemon.start()
    given = {**environment(tmp_path / "data"), "EVERYAGENT_TOKEN": TOKEN, "EVERYAGENT_URL": daemon.url}
    async with running(Editor(), given, "mock") as editor, anyio.create_task_group() as tasks:
        await editor.open(tmp_path)

        async def restart() -> None:
            await editor.seen("agent_message_chunk")
            daemon.kill()
            await anyio.to_thread.run_sync(lambda: daemon.start(port=daemon.port))

        tasks.start_soon(restart)
        with pytest.raises(RequestError, match="daemon"):
            await editor.prompt("[slow seconds=600]")
        assert (await editor.prompt("Are you there?")).stop_reason == "end_turn"
        assert "Are you there?" in editor.text()
    assert daemon.stop() == 0


def test_bad_lines_are_answered_and_the_next_one_is_read(settings: dict[str, str]) -> None:
    lines = [
        b"{",
        b"[1, 2]",
        b'{"jsonrpc":"2.0","id":1,"method":"session/prompt","params":{"sessionId":7}}',
        b'{"jsonrpc":"2.0","id":2,"method":"session/prompt","params":{"sessionId":"none","prompt":[]}}',
        b'{"jsonrpc":"2.0","id":"x","method":"terminal/levitate"}',
        b'{"jsonrpc":"2.0","method":"$/unknown_notification","params":{}}',
        b'{"jsonrpc":"2.0","id":99,"result":{}}',
        b'{"jsonrpc":"2.0","id":3,"method":"authenticate","params":{"methodId":"x"}}',
        b'{"jsonrpc":"2.0","id":4,"method":"session/new","params":{"cwd":"/no/such/folder","mcpServers":[]}}',
        b'{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":99}}',
    ]
    with subprocess.Popen(
        [*COMMAND, "acp", "mock"], env=settings, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdin
        assert process.stdout
        process.stdin.write(b"\n".join(lines) + b"\n")
        process.stdin.flush()
        answers = [msgspec.json.decode(process.stdout.readline()) for _ in range(8)]
        process.stdin.close()
        assert process.wait(LIMIT_SECONDS) == 0
    codes = {str(each["id"]): each["error"]["code"] for each in answers if "error" in each and each["id"] is not None}
    assert codes == {"1": -32602, "2": -32002, "x": -32601, "3": -32602, "4": -32602}
    assert sorted(each["error"]["code"] for each in answers if each["id"] is None) == [-32700, -32600]
    (result,) = [each["result"] for each in answers if "result" in each]
    assert result["protocolVersion"] == 1


async def test_without_a_daemon_one_is_started_for_the_editor(tmp_path: Path) -> None:
    given = environment(tmp_path / "data") | {"EVERYAGENT_PORT": "9"}
    async with running(Editor(), given, "mock") as editor:
        await editor.open(tmp_path)
        assert (await editor.prompt("Alone")).stop_reason == "end_turn"


async def test_an_unknown_agent_is_an_error_of_the_session(settings: dict[str, str], tmp_path: Path) -> None:
    async with running(Editor(), settings, "nobody") as editor:
        with pytest.raises(RequestError, match="nobody"):
            await editor.open(tmp_path)


def test_the_official_typescript_client_is_served(settings: dict[str, str]) -> None:
    words = msgspec.json.encode([*COMMAND[1:], "acp", "mock"]).decode()
    folder = npm_packages("acp-2.4.0", "@agentclientprotocol/sdk@2.4.0")
    ours = {name: value for name, value in settings.items() if name.startswith("EVERYAGENT_")}
    run_module(folder, Path(__file__).with_name("acp_client.mjs"), PROGRAM=COMMAND[0], WORDS=words, **ours)
    passed("acp-typescript")


def test_everyagent_is_an_agent_of_everyagent(tmp_path: Path) -> None:
    """The daemon's own adapter drives `everyagent acp`: two daemons, two logs, the same turn in both."""
    config = tmp_path / "config.toml"
    command = [*COMMAND, "acp", "mock", "--data-dir", str(tmp_path / "inner"), "--isolation", "none"]
    config.write_text(f"[agents.nested]\ncommand = {msgspec.json.encode(command).decode()}\n")
    daemon = DaemonProcess(tmp_path / "outer", environment={"EVERYAGENT_CONFIG": str(config)})
    daemon.start()
    with Client(daemon.url, TOKEN) as client:
        made = client.create(agent="nested", directory=str(tmp_path), isolation="none")
        turn = client.run_turn(made.session_id, "[reasoning] [ask] [diff] [question]", answer=agreed)
        assert (turn.stop_reason, turn.text) == ("end_turn", "You answered: Green; Docs, Tests.")
        assert (tmp_path / "mock.txt").read_text() == "A line of the mock.\n"
        results = [part.output for item in turn.items for part in item.content if isinstance(part, ToolResultPart)]
        assert sorted(results) == ["Added a line to mock.txt.", "permitted\n"]
        diffs = [part.diff for item in turn.items for part in item.content if isinstance(part, FileRefPart)]
        assert any("+A line of the mock." in (diff or "") for diff in diffs)
        listed = client.models("nested")
        assert [model.id for model in listed.models] == ["mock-small", "mock-large"]
        events = list(client.events(made.session_id, follow=False))
        assert not [event for event in events if event.type == "agent.unparsed"]
        assert not check(events)
    assert daemon.stop() == 0


def agreed(ask: Ask) -> Answer:
    if isinstance(ask, QuestionRequested):
        return QuestionAnswer(answers=[["Green"], ["Docs", "Tests"]])
    return PermissionAnswer(reply="once")
