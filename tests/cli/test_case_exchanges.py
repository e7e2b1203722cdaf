"""Test cases from a session's frames: the starts and ends of processes, and answers to requests."""

from typing import Literal

from everyagent.cli.sessions.case_exchanges import ProcessEnd, exchanges
from everyagent.model.events import Error, StderrOutput
from everyagent.model.parts import Json
from everyagent.model.sessions import FrameInfo


def frame(direction: Literal["in", "out", "client"], body: Json, *sequences: int) -> FrameInfo:
    names = {"in": "to_agent", "out": "from_agent", "client": "from_client"}
    return FrameInfo(number=1, time="", direction=names[direction], sequences=list(sequences), body=body)  # pyright: ignore[reportArgumentType]


def test_a_handshake_after_the_first_is_a_new_process() -> None:
    hellos: list[Json] = [{"method": "initialize"}, {"type": "control_request", "request": {"subtype": "initialize"}}]
    for hello in hellos:
        frames = [frame("in", hello), frame("client", {}), frame("out", "no JSON"), frame("in", hello)]
        made = [each.direction for each in exchanges("claude", "plan", frames)]
        assert made == ["new", "in", "text", "new", "in"]


def test_an_answer_of_a_server_has_the_request_before_it() -> None:
    create: Json = {"method": "POST", "path": "/session", "body": {}}
    event: Json = {"id": "evt_1", "type": "session.idle", "properties": {}}
    again: Json = {"method": "GET", "path": "/session/ses_1", "body": None}
    frames = [frame("in", create), frame("out", {"id": "ses_1"}), frame("out", event), frame("in", again)]
    made = list(exchanges("opencode", "default", frames))
    assert [each.direction for each in made] == ["new", "in", "back", "out", "new", "in"]
    assert made[2].message == {"method": "POST", "path": "/session", "status": 200, "body": {"id": "ses_1"}}


def test_a_process_begins_before_its_first_message_and_ends_with_its_stderr() -> None:
    init: Json = {"type": "system", "subtype": "init"}
    frames = [frame("in", {"n": 1}), frame("out", init, 2), frame("in", {"n": 2}), frame("out", init, 9)]
    error = Error(message="x", exit_code=1, stderr=StderrOutput(truncated=False, head="No credits"))
    made = list(exchanges("amp", "default", frames, [ProcessEnd(5, error)]))
    assert [each.direction for each in made] == ["new", "in", "out", "in", "err", "exit", "new", "out"]
    assert [each.message for each in made if each.direction in ("err", "exit")] == ["No credits", 1]
