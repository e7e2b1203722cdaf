"""Interrupts of the real program, at each stage of a turn. A program that ignores one is ended."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from codex_stage import CodexSession
from tests.pausing import pause
from tests.scripted.responses_replies import Response, call, fail, patch, run, say, think

from everyagent.model.events import (
    Error,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    ToolRequested,
    TurnEnded,
)

LONG = "word " * 40
SLEEP = "python3 -c 'import time; time.sleep(50)'"
NEW = "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\n"
OPTIONS = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
QUESTION = {"id": "q", "header": "H", "question": "Which?", "options": OPTIONS}
NOTES = {"notes": {"type": "local", "command": [sys.executable, str(Path(__file__).parent / "notes_mcp_server.py")]}}
WEATHER = {"name": "get_weather", "description": "The weather", "inputSchema": {"type": "object"}}


def sleepers(session: CodexSession) -> list[int]:
    return session.processes("time.sleep(50)")


def asked(kind: type[object]) -> Callable[[CodexSession], object]:
    return lambda session: session.next(kind)


STAGES: dict[str, tuple[Response, Callable[[CodexSession], object]]] = {
    "a patch waits for permission": (patch(NEW), asked(PermissionRequested)),
    "a question waits": (call("request_user_input", {"questions": [QUESTION]}), asked(QuestionRequested)),
    "a form of an MCP server waits": (call("book", {}, namespace="mcp__notes"), asked(QuestionRequested)),
    "a custom tool is at work": (call("get_weather", {}, namespace="mcp__everyagent"), asked(ToolRequested)),
    "the API is tried again": (fail(429, "rate_limit_exceeded", headers={"retry-after": "20"}), asked(Error)),
}


@pytest.mark.parametrize("stage", STAGES)
def test_an_interrupt_ends_the_turn_while(session: CodexSession, stage: str) -> None:
    response, reached = STAGES[stage]
    session.model.script.add(response)
    session.create(mcp=NOTES, tools=[WEATHER]).send("Begin")
    reached(session)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert len(session.all(PermissionRequested)) == len(session.all(PermissionResolved))
    assert len(session.all(QuestionRequested)) == len(session.all(QuestionResolved))
    assert not (session.workspace / "new.txt").exists()
    session.model.script.add(say("Still here.", when="Are you there?"))
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies()[-1] == "Still here."


def test_an_interrupt_stops_a_thought(session: CodexSession) -> None:
    thought = think("A long thought, " * 20, "Never said.")
    thought.held = 3
    session.model.script.add(thought, say("Still here."))
    session.create().send("Think")
    session.until_output("thought")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert [item.status for item in session.items("message") if item.name == "reasoning"] == ["failed"]
    assert session.turn("Are you there?").stop_reason == "end_turn"


def test_an_interrupt_stops_compacting(session: CodexSession) -> None:
    session.model.script.add(say("A long story."), say(LONG, held=4), say("Still here."))
    session.create().turn("Tell me")
    session.send("/compact")
    session.until(lambda: len(session.model.requests) == 2)
    session.cancel()
    assert session.next(TurnEnded, 2).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"


def test_an_interrupt_stops_the_output_and_keeps_the_session(session: CodexSession) -> None:
    session.model.script.add(say(LONG, held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_output("word")
    pid = session.app_server()
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"
    assert session.replies()[-1] == "Still here."
    assert session.app_server() == pid


def test_an_interrupt_before_any_output_ends_the_turn(session: CodexSession) -> None:
    session.model.script.add(say(LONG, when="Talk about it", held=0), say("Back."))
    session.create().send("Talk about it")
    session.until(lambda: session.model.requests)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_at_once_ends_the_turn(session: CodexSession) -> None:
    session.model.script.add(say("Back.", when="Again"), say(LONG, when="Talk about it", held=0))
    session.create().send("Talk about it")
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Again").stop_reason == "end_turn"


def test_an_interrupt_stops_a_command_for_good(session: CodexSession) -> None:
    session.model.script.add(run(SLEEP))
    session.create(permissionMode="bypass").send("Sleep")
    session.until(lambda: session.items("tool_call") and sleepers(session))
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert [item.status for item in session.items("tool_result")] == ["failed"]
    session.until(lambda: not sleepers(session))


def test_an_interrupt_resolves_a_pending_permission(session: CodexSession) -> None:
    session.model.script.add(run("touch x"))
    session.create().send("Touch it")
    session.next(PermissionRequested)
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.next(PermissionResolved).status == "denied"


def test_a_second_interrupt_is_harmless(session: CodexSession) -> None:
    session.model.script.add(say(LONG, held=8), say("Still here."))
    session.create().send("Talk long")
    session.until_output("word")
    session.cancel()
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    assert session.turn("Are you there?").stop_reason == "end_turn"


def test_a_turn_that_ignores_the_interrupt_is_ended_with_the_process(session: CodexSession) -> None:
    session.model.script.add(say("Noted."), say(LONG, held=4), say("It was seven."))
    session.create().turn("Remember seven")
    session.send("Talk long")
    session.until_output("word")
    pause(session.app_server())
    session.cancel()
    session.cancel()
    assert session.next(TurnEnded, 2).stop_reason == "interrupted"
    assert session.turn("Which number?").stop_reason == "end_turn"
    assert "Remember seven" in session.model.requests[-1].everything


def test_the_end_of_a_shared_process_is_reported_to_the_others(session: CodexSession) -> None:
    session.model.script.add(say("Hello.", when="Hello"), say(LONG, held=4, when="Talk"), say("Back.", when="again"))
    other = session.another().create()
    other.turn("Hello")
    session.create().send("Talk long")
    session.until_output("word")
    pause(session.app_server())
    session.cancel()
    assert session.next(TurnEnded).stop_reason == "interrupted"
    other.until(other.errors)
    assert other.turn("Once again").stop_reason == "end_turn"
    assert len(other.errors()) == 1
    assert other.violations() == []
    other.terminate()
