"""Events that clients send to a session. Stored ones have an `id`, and no time while they are queued."""

from typing import Annotated, Final, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.managed.sessions.blocks import FileSource, MessageBlock, ResultBlock, Text

MAX_ITERATIONS = 20


class IncomingEvent(Struct, frozen=True, kw_only=True):
    id: str = ""
    processed_at: str | None = None


class UserMessage(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.message"):
    content: Annotated[list[MessageBlock], Meta(min_length=1)]


class UserInterrupt(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.interrupt"):
    session_thread_id: str | None = None


class UserToolConfirmation(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.tool_confirmation"):
    tool_use_id: str
    result: Literal["allow", "deny"]
    deny_message: str | None = None
    session_thread_id: str | None = None


class UserCustomToolResult(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.custom_tool_result"):
    custom_tool_use_id: str
    content: list[ResultBlock] = []
    is_error: bool | None = None
    session_thread_id: str | None = None


class UserToolResult(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.tool_result"):
    tool_use_id: str
    content: list[ResultBlock] = []
    is_error: bool | None = None
    session_thread_id: str | None = None


class TextRubric(Struct, frozen=True, kw_only=True, tag_field="type", tag="text"):
    content: Annotated[str, Meta(max_length=262_144)]


class FileRubric(FileSource, frozen=True, kw_only=True, tag_field="type", tag="file"):
    pass


class UserDefineOutcome(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="user.define_outcome"):
    description: Annotated[str, Meta(min_length=1)]
    rubric: TextRubric | FileRubric
    max_iterations: Annotated[int, Meta(ge=1, le=MAX_ITERATIONS)] | None = None
    outcome_id: str = ""


class SystemMessage(IncomingEvent, frozen=True, kw_only=True, tag_field="type", tag="system.message"):
    content: Annotated[list[Text], Meta(min_length=1, max_length=1000)]


ClientEvent: TypeAlias = (
    UserMessage
    | UserInterrupt
    | UserToolConfirmation
    | UserCustomToolResult
    | UserToolResult
    | UserDefineOutcome
    | SystemMessage
)


#: Events that answer a required action.
ANSWERS: Final = (UserToolConfirmation, UserCustomToolResult, UserToolResult)


def answered_use(event: ClientEvent) -> str | None:
    """The event that an answer is for."""
    match event:
        case UserToolConfirmation() | UserToolResult():
            return event.tool_use_id
        case UserCustomToolResult():
            return event.custom_tool_use_id
        case _:
            return None


def type_of(event: ClientEvent) -> str:
    return str(type(event).__struct_config__.tag)
