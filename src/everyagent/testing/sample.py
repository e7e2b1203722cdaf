"""A sample session with every event type and every content part.

To test clients, exports and checkers without a daemon. `stamped` puts event data into envelopes.
"""

from collections.abc import Iterable

from msgspec.structs import replace

from everyagent.clock import rfc3339
from everyagent.model.asks import Question, QuestionOption
from everyagent.model.events import (
    Envelope,
    Error,
    Event,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    Retry,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
    StderrOutput,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.items import Item
from everyagent.model.parts import (
    ContentPart,
    FileRefPart,
    ImagePart,
    JsonPart,
    ReasoningPart,
    StatusPart,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from everyagent.model.usage import Usage

_FIRST_MICROS = 1_767_225_600_000_000  # 2026-01-01


def stamped(data: Iterable[EventData], *, session_id: str = "sample", first: int = 1) -> list[Event]:
    """Events of one session, a millisecond apart. Their source is the daemon or the agent, by their type."""
    return [_event(each, session_id, sequence) for sequence, each in enumerate(data, first)]


def _event(data: EventData, session_id: str, sequence: int) -> Event:
    made = isinstance(data, SessionStarted | SessionUpdated | SessionEnded | TurnStarted | Unparsed)
    if isinstance(data, ItemStarted) and data.item.role == "user":
        made = data.item.native_item_id is None
    return Envelope(
        event_id=f"evt_{sequence:026}",
        sequence=sequence,
        time=rfc3339(_FIRST_MICROS + sequence * 1000),
        session_id=session_id,
        native_session_id="native-1",
        source="daemon" if made else "agent",
        synthetic=made,
        type=data.type,
        data=data,
    )


def spoken(item: Item) -> list[EventData]:
    """An item from start to end, its text and reasoning streamed in two deltas a part."""
    started = Item(
        item_id=item.item_id,
        native_item_id=item.native_item_id,
        parent_id=item.parent_id,
        kind=item.kind,
        role=item.role,
        status="in_progress",
        content=[],
        turn_id=item.turn_id,
        subagent=item.subagent,
        name=item.name,
    )
    return [ItemStarted(item=started), *_deltas(item), ItemCompleted(item=item)]


def _deltas(item: Item) -> Iterable[ItemDelta]:
    for index, part in enumerate(item.content):
        if not isinstance(part, TextPart | ReasoningPart):
            continue
        half = len(part.text) // 2
        for piece in (part.text[:half], part.text[half:]):
            yield ItemDelta(
                item_id=item.item_id,
                native_item_id=item.native_item_id,
                delta=piece,
                content_index=index,
                kind="text" if isinstance(part, TextPart) else "reasoning",
                role=item.role,
            )


def sample_session() -> list[Event]:
    """One turn in which everything happens, and an ended session."""
    return stamped(
        [
            SessionStarted(metadata={"agent": "mock"}),
            TurnStarted(turn_id="turn_1", input_item_ids=["itm_user"]),
            SessionUpdated(status="running", title="A sample"),
            *_question_and_answer(),
            *_tools(),
            *_asks(),
            *_troubles(),
            ModelResponded(
                usage=Usage(input_tokens=120, output_tokens=40, reasoning_tokens=8),
                turn_id="turn_1",
                model="mock-small",
                cost_usd=0.002,
                priced=True,
            ),
            TurnEnded(
                turn_id="turn_1",
                stop_reason="end_turn",
                usage=Usage(input_tokens=120, output_tokens=40, reasoning_tokens=8),
                cost_usd=0.002,
            ),
            SessionUpdated(status="idle"),
            SessionEnded(reason="terminated", terminated_by="daemon"),
        ]
    )


def _question_and_answer() -> Iterable[EventData]:
    user = Item(
        item_id="itm_user",
        native_item_id=None,
        parent_id=None,
        kind="message",
        role="user",
        status="completed",
        content=[TextPart(text="Fix the failing test."), ImagePart(path="/shots/failure.png", mime="image/png")],
        turn_id="turn_1",
    )
    answer = Item(
        item_id="itm_answer",
        native_item_id="msg_1",
        parent_id=None,
        kind="message",
        role="assistant",
        status="completed",
        content=[TextPart(text="I will look at the parser.")],
        turn_id="turn_1",
    )
    reasoning: list[ContentPart] = [ReasoningPart(text="The parser drops the last line.", visibility="public")]
    thought = replace(answer, item_id="itm_thought", content=reasoning, name="reasoning")
    return [*spoken(user), *spoken(thought), *spoken(answer)]


def _tool(item_id: str, *parts: ContentPart, subagent: str | None = None) -> Item:
    call = isinstance(parts[0], ToolCallPart)
    return Item(
        item_id=item_id,
        native_item_id=None,
        parent_id="itm_answer",
        kind="tool_call" if call else "tool_result",
        role="assistant" if call else "tool",
        status="completed",
        content=[*parts],
        turn_id="turn_1",
        subagent=subagent,
    )


def _tools() -> Iterable[EventData]:
    """A task for a sub-agent, which runs the tests itself; then an edit."""
    task = ToolCallPart(name="task", arguments='{"prompt":"run the tests"}', call_id="call_task")
    bash = ToolCallPart(name="bash", arguments='{"command":"make test"}', call_id="call_bash", mcp_server="shell")
    failed = ToolResultPart(call_id="call_bash", output="1 failed", is_error=True, exit_code=1, duration_ms=1500)
    edit = ToolCallPart(name="edit", arguments='{"path":"parser.py"}', call_id="call_edit")
    diff = "--- a/parser.py\n+++ b/parser.py\n@@ -1 +1 @@\n-lines[:-1]\n+lines\n"
    return [
        *spoken(_tool("itm_task", task)),
        *spoken(_tool("itm_bash", bash, subagent="itm_task")),
        *spoken(_tool("itm_bash_result", failed, subagent="itm_task")),
        *spoken(_tool("itm_task_result", ToolResultPart(call_id="call_task", output="One test fails."))),
        *spoken(_tool("itm_edit", edit)),
        *spoken(
            _tool(
                "itm_edit_result",
                ToolResultPart(call_id="call_edit", output="Edited."),
                FileRefPart(path="parser.py", action="patch", diff=diff),
            )
        ),
    ]


def _asks() -> Iterable[EventData]:
    questions = [
        Question(
            prompt="Which colour?",
            header="Colour",
            options=[QuestionOption(label="red", description="Warm"), QuestionOption(label="blue")],
        )
    ]
    return [
        SessionUpdated(status="waiting"),
        PermissionRequested(
            permission_id="perm_1",
            action="bash",
            status="requested",
            tool="bash",
            input={"command": "git push"},
            options=["once", "always", "reject"],
        ),
        PermissionResolved(permission_id="perm_1", action="bash", status="denied", tool="bash", reply="reject"),
        QuestionRequested(
            question_id="ques_1",
            prompt="Which colour?",
            options=["red", "blue"],
            status="requested",
            questions=questions,
        ),
        QuestionResolved(
            question_id="ques_1",
            prompt="Which colour?",
            options=["red", "blue"],
            status="answered",
            questions=questions,
            response="blue",
            answers=[["blue"]],
        ),
        ToolRequested(tool_id="tool_1", name="get_weather", input={"city": "Oslo"}, status="requested"),
        ToolResolved(tool_id="tool_1", name="get_weather", input={"city": "Oslo"}, status="answered", output="rain"),
        SessionUpdated(status="running"),
    ]


def _troubles() -> Iterable[EventData]:
    status = Item(
        item_id="itm_status",
        native_item_id=None,
        parent_id=None,
        kind="status",
        role=None,
        status="completed",
        content=[StatusPart(label="Compacted", detail="history shortened"), JsonPart(json={"kept": 12})],
        turn_id="turn_1",
    )
    return [
        *spoken(status),
        Error(message="The model is overloaded.", code="overloaded", retry=Retry(attempt=1, max=3, delay_ms=500)),
        Error(
            message="The agent said something on its way.",
            code="internal",
            stderr=StderrOutput(head="warning: low memory", truncated=False, total_lines=1),
        ),
        Unparsed(error="unknown message type", location="mock", raw_hash="9f86d081"),
    ]
