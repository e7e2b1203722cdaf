"""The limits of an agent hold for commands that Claude Code runs."""

from claude_stage import ClaudeSession
from tests.scripted.messages_replies import call, say

from everyagent.model.events import Error, TurnEnded

_MEMORY = "python3 -c 'import time; held = [bytearray(b\"x\" * (16 << 20)) for _ in range(100)]; time.sleep(600)'"
_PROCESSES = "for i in $(seq 305); do sleep 600 & done; sleep 600"


def test_bombs_in_the_shell_end_their_turns_and_the_session_goes_on(session: ClaudeSession) -> None:
    for command, prompt in ((_MEMORY, "Use memory"), (_PROCESSES, "Start programs")):
        session.model.script.add(call("Bash", {"command": command, "description": "try"}, when=prompt))
    session.model.script.add(say("Here I am.", when="Are you there?"))
    session.create(permissionMode="bypass", limits={"memory": 1 << 30, "processes": 300})
    for prompt, name in (("Use memory", "memory"), ("Start programs", "processes")):
        session.turn(prompt)
        error, ended = session.all(Error)[-1], session.all(TurnEnded)[-1]
        assert (error.code, ended.stop_reason) == ("limit_exceeded", "error")
        assert f"`limits.{name}`" in error.message
    session.turn("Are you there?")
    assert session.all(TurnEnded)[-1].stop_reason == "end_turn"


def test_a_command_that_prints_nothing_ends_its_turn_after_the_timeout(session: ClaudeSession) -> None:
    command = {"command": "tail -f /dev/null", "description": "hold"}
    session.model.script.add(call("Bash", command, when="Hold on"))
    session.model.script.add(say("Here I am.", when="Are you there?"))
    session.create(permissionMode="bypass", turnTimeout=12)
    session.turn("Hold on")
    assert "turn_timeout" in [item.name for item in session.items("status")]
    error, ended = session.all(Error)[-1], session.all(TurnEnded)[-1]
    assert (error.code, ended.stop_reason, ended.error) == ("timeout", "error", error.message)
    session.turn("Are you there?")
    assert session.all(TurnEnded)[-1].stop_reason == "end_turn"
