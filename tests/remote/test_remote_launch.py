"""The launch of an agent on a runner: no option of the session is lost on the way."""

from pathlib import Path
from typing import get_type_hints

import msgspec
import pytest

from everyagent.agents.adapter import Conversation, Launch, LaunchOptions, Listener
from everyagent.model.tools import CustomTool, McpServer
from everyagent.remote import adapter, wire
from tests.runner.scripted_host import AGENT, ScriptedAdapter, scripted_host

pytestmark = pytest.mark.anyio
#: Fields of `Launch` that the runner sets itself.
OF_THE_RUNNER = {"scratch", "tools_url", "shell", "containers", "hidden", "git", "packages"}
#: Fields of `Launch` that have another form, or another name, on the wire.
CONVERTED = {"directory", "hosts", "isolation", "limits", "confined_to"}
#: A callback and a command name their session, so a launch does not.
ENVELOPE = {"session_id"}
SAMPLES: dict[object, object] = {
    str: "one",
    str | None: "two",
    dict[str, str]: {"A": "1"},
    dict[str, McpServer]: {"notes": {"type": "local", "command": ["notes"]}},
    list[CustomTool]: [{"name": "get_weather", "description": "The weather", "inputSchema": {"type": "object"}}],
}


def fields(kind: type[msgspec.Struct]) -> set[str]:
    return {*kind.__struct_fields__}


def test_every_field_of_a_launch_is_sent_or_is_the_runners_own() -> None:
    assert fields(Launch) == fields(LaunchOptions) | OF_THE_RUNNER | CONVERTED | ENVELOPE
    assert fields(wire.RemoteLaunch) == fields(LaunchOptions) | {"agent", "directory", "hosts", "isolation"} | {
        "limits",
        "confined",
    }


async def test_every_option_reaches_the_agent_on_the_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hints = get_type_hints(LaunchOptions)
    sample = {name: SAMPLES[hints[name]] for name in fields(LaunchOptions) if name != "policies"}
    sample["policies"] = {"tools": {"bash": "deny"}}
    options = msgspec.convert(sample, LaunchOptions)
    launch = Launch(session_id="one", directory=Path(), scratch=tmp_path, **options.options())
    launches: list[Launch] = []

    async def opened(self: ScriptedAdapter, launch: Launch, listener: Listener) -> Conversation:
        launches.append(launch)
        return await open_one(self, launch, listener)

    open_one = ScriptedAdapter.open
    monkeypatch.setattr(ScriptedAdapter, "open", opened)
    sent = msgspec.json.encode(adapter._remote(AGENT, launch, None))
    async with scripted_host(tmp_path) as host:
        session = host.session("one")
        session.command(wire.Open(msgspec.json.decode(sent, type=wire.RemoteLaunch)))
        assert [each.error for each in await session.results(1)] == [None]
    (arrived,) = launches
    assert arrived.options() == options.options()
    defaults = LaunchOptions(permission_mode="", agent_mode="").options()
    assert not [name for name, value in arrived.options().items() if value == defaults[name]], "a sample is a default"
