"""Messages of the native schema that no recorded exchange has: made by hand, held to the same rules."""

import pytest
from recorded_threads import Session
from tests.agents.sequenced_session import violations

from everyagent.agents.codex.protocol import rpc
from everyagent.model.events import Error, ItemCompleted, PermissionRequested, SessionUpdated
from everyagent.model.items import Item
from everyagent.model.parts import ImagePart, StatusPart, ToolResultPart
from everyagent.runtime.framing import Line


def told(*messages: tuple[str, dict[str, object]], id: int | None = None) -> Session:
    """A session in a turn that gets these messages, and then the turn's end."""
    session = Session()
    session.decoder.sent["1"] = "thread/start"
    hear(session, b'{"id":"1","result":{"thread":{"id":"T"}}}')
    session.prompted()
    for method, params in messages:
        asked = {} if id is None else {"id": id}
        frame = rpc.request(0, method, {"threadId": "T", "turnId": "t", **params})
        hear(session, frame.replace(b'"id":0,', f'"id":{id},'.encode() if asked else b""))
    hear(session, b'{"method":"turn/completed","params":{"threadId":"T","turn":{"id":"t","status":"completed"}}}')
    assert violations(session.events) == []
    assert not [event for event in session.events if event.type == "agent.unparsed"]
    return session


def hear(session: Session, body: bytes) -> None:
    session.received(rpc.read(Line(body.rstrip(b"\n"))))


def done(session: Session) -> list[Item]:
    found = [event.data.item for event in session.events if isinstance(event.data, ItemCompleted)]
    return [item for item in found if item.role != "user"]


def data(session: Session, kind: type) -> list[object]:
    return [event.data for event in session.events if isinstance(event.data, kind)]


LIMITS = {"primary": {"usedPercent": 91, "windowDurationMins": 300, "resetsAt": 1}}


@pytest.mark.parametrize(
    ("method", "params", "name", "label"),
    [
        ("account/rateLimits/updated", {"rateLimits": LIMITS}, "rate_limit", "The account's limit is near"),
        ("guardianWarning", {"message": "Careful"}, "warning", "Careful"),
        ("hook/completed", {"run": {"id": "h", "eventName": "stop", "status": "failed"}}, "hook", "Hook stop failed"),
        ("thread/goal/updated", {"goal": {"objective": "Ship it", "status": "active"}}, "goal", "Ship it"),
        (
            "model/rerouted",
            {"fromModel": "a", "toModel": "b", "reason": "x"},
            "model_rerouted",
            "The model a was exchanged for b",
        ),
        ("modelProvider/authRecoveryStarted", {"message": "Once more", "provider": "p"}, "auth_recovery", "Once more"),
        (
            "item/autoApprovalReview/completed",
            {"reviewId": "r", "review": {"status": "approved"}},
            "approval_review",
            "Automatic review: approved",
        ),
        (
            "item/commandExecution/terminalInteraction",
            {"itemId": "c", "stdin": "y\n"},
            "terminal_input",
            "Wrote to the running command",
        ),
    ],
)
def test_a_notice_of_codex_is_a_status(method: str, params: dict[str, object], name: str, label: str) -> None:
    (item,) = done(told((method, params)))
    assert (item.kind, item.name) == ("status", name)
    assert isinstance(item.content[0], StatusPart)
    assert item.content[0].label == label


def test_a_limit_that_is_reached_is_an_error_and_one_that_is_far_is_nothing() -> None:
    reached = {**LIMITS, "rateLimitReachedType": "primary"}
    assert len(data(told(("account/rateLimits/updated", {"rateLimits": reached})), Error)) == 1
    far: dict[str, object] = {"rateLimits": {"primary": {"usedPercent": 10}}}
    assert done(told(("account/rateLimits/updated", far))) == []


def test_a_name_that_codex_gives_is_the_sessions_title() -> None:
    (updated,) = data(told(("thread/name/updated", {"threadName": "My work"})), SessionUpdated)
    assert isinstance(updated, SessionUpdated)
    assert updated.title == "My work"


@pytest.mark.parametrize("type", ["sleep", "enteredReviewMode", "exitedReviewMode", "hookPrompt"])
def test_marks_in_the_thread_are_statuses(type: str) -> None:
    item = {"type": type, "id": "i", "review": "Fine", "durationMs": 5}
    (mark,) = done(told(("item/started", {"item": item}), ("item/completed", {"item": item})))
    assert mark.kind == "status"


def test_an_image_that_was_made_comes_with_its_result() -> None:
    item = {"type": "imageGeneration", "id": "i", "status": "completed", "result": "aGk=", "savedPath": "/w/a.png"}
    called, returned = done(told(("item/started", {"item": item}), ("item/completed", {"item": item})))
    assert (called.kind, returned.kind) == ("tool_call", "tool_result")
    assert ImagePart(path="/w/a.png", mime="image/png", data="aGk=") in returned.content


def test_the_output_of_a_function_is_a_result_with_its_call() -> None:
    item = {"type": "functionCallOutput", "id": "f", "name": "lookup", "output": "found"}
    called, returned = done(told(("item/completed", {"item": item})))
    assert (called.name, returned.name) == ("lookup", "lookup")
    assert isinstance(returned.content[0], ToolResultPart)
    assert returned.content[0].output == "found"


def test_a_sub_agent_that_is_interrupted_fails_its_call() -> None:
    begun = {"type": "subAgentActivity", "id": "c", "kind": "started", "agentThreadId": "C", "agentPath": "/root/x"}
    message = {"type": "agentMessage", "id": "m", "text": "Half"}
    session = told(
        ("item/started", {"item": begun}),
        ("item/completed", {"item": message, "threadId": "C"}),
        ("item/started", {"item": {**begun, "id": "d", "kind": "interacted"}}),
        ("item/started", {"item": {**begun, "id": "e", "kind": "interrupted"}}),
    )
    called, said, spoken_to, returned = done(session)
    assert said.subagent == called.item_id
    assert spoken_to.kind == "status"
    assert (returned.kind, returned.status) == ("tool_result", "failed")


@pytest.mark.parametrize(
    ("method", "params", "action"),
    [
        (
            "item/permissions/requestApproval",
            {"itemId": "i", "permissions": {"network": {}}, "cwd": "/w"},
            "permissions",
        ),
        ("execCommandApproval", {"conversationId": "T", "callId": "c", "command": ["ls"], "cwd": "/w"}, "shell"),
        ("applyPatchApproval", {"conversationId": "T", "callId": "c", "fileChanges": {}}, "apply_patch"),
        (
            "item/commandExecution/requestApproval",
            {"itemId": "c", "networkApprovalContext": {"host": "x.example", "protocol": "https"}},
            "network",
        ),
    ],
)
def test_every_kind_of_approval_is_a_permission(method: str, params: dict[str, object], action: str) -> None:
    (asked,) = data(told((method, params), id=4), PermissionRequested)
    assert isinstance(asked, PermissionRequested)
    assert asked.action == action
