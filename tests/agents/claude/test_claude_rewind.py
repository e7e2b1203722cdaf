"""The real Claude Code after a rewind: its model gets the conversation until then, and the files are back."""

import msgspec
import pytest
from claude_stage import ClaudeSession
from tests.agents.stage import ON_RUNNER
from tests.scripted.messages_replies import Reply, call, say

from everyagent.model.decoding import decode_event
from everyagent.model.events import TurnEnded

pytestmark = pytest.mark.skipif(ON_RUNNER, reason="a session on a runner cannot have checkpoints")


def test_what_was_said_and_written_since_is_gone(session: ClaudeSession) -> None:
    def bash(command: str) -> Reply:
        return call("Bash", {"command": command, "description": "work"})

    session.model.script.add(bash("echo one > a.txt"), say("I know about apples."))
    session.create(permissionMode="bypass", checkpoints=True)
    session.turn("Tell me about apples")
    session.model.script.add(bash("echo two > a.txt; echo b > b.txt"), say("I know about bananas."))
    session.turn("Tell me about bananas")
    events = [decode_event(body) for body in session.bodies()]
    first = next(event.sequence for event in events if isinstance(event.data, TurnEnded))
    done = session.call("POST", f"/sessions/{session.id}/rewind", {"sequence": first}).json()
    assert (done["files"], done["conversation"]) == (["a.txt", "b.txt"], True)
    assert {path.name: path.read_text() for path in session.workspace.iterdir()} == {"a.txt": "one\n"}
    session.model.script.add(say("Only apples."))
    assert session.turn("What do you know?").stop_reason == "end_turn"
    request = msgspec.json.encode(session.model.requests[-1])
    assert b"I know about apples." in request
    assert b"bananas" not in request
