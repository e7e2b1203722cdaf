"""Slash commands of an agent with an adapter of its own, offered to an editor over `everyagent acp`."""

from pathlib import Path

from acp_editor import Editor, running
from command_line import environment
from tests.agents.claude import claude_stage
from tests.scripted.messages_replies import say
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import program
from everyagent.testing.daemon import TOKEN, DaemonProcess


async def test_an_editor_is_offered_the_commands_of_claude_code(tmp_path: Path) -> None:
    with MessagesServer() as model:
        model.script.add(say("Hello."))
        own = {program.BINARY_VARIABLE: claude_stage.claude_binary(), **claude_stage.environment(tmp_path, model)}
        daemon = DaemonProcess(tmp_path / "data", environment=own)
        daemon.start()
        given = environment(tmp_path / "data") | {"EVERYAGENT_TOKEN": TOKEN, "EVERYAGENT_URL": daemon.url}
        async with running(Editor(), given, "claude", "--isolation", "none") as editor:
            await editor.open(tmp_path)
            assert (await editor.prompt("Hi")).stop_reason == "end_turn"
            offered = (await editor.seen("available_commands_update")).available_commands
        assert daemon.stop() == 0
    assert [each.name for each in offered if not each.description] == []
    assert offered
