"""Formats an event as one line, for `sessions tail`."""

import msgspec
from rich.text import Text

from everyagent.cli.ask_text import compact
from everyagent.cli.output import one_line
from everyagent.cli.usage_text import cost, tokens
from everyagent.client import AnyEvent
from everyagent.model.events import (
    Error,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionUpdated,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ReasoningPart, StatusPart, TextPart, ToolCallPart, ToolResultPart

_STYLES = {"error": "red", "permission": "yellow", "question": "yellow", "tool": "yellow", "turn": "bold"}


def line_of(event: AnyEvent) -> Text:
    """Sequence, time of day, type, and a summary of the data."""
    line = Text(f"{event.sequence:>6}  {event.time[11:23]}  ", style="dim")
    line.append(f"{event.type:<20}  ", style=_STYLES.get(event.type.partition(".")[0], "cyan"))
    line.append(_summary(event), style="not dim")
    line.rstrip()
    return line


def _summary(event: AnyEvent) -> str:
    match event.data:
        case ItemStarted(item=item) | ItemCompleted(item=item):
            return f"{item.role or item.kind}  {item_summary(item)}".rstrip()
        case ItemDelta() as delta:
            return f"{delta.kind}  {delta.delta!r}"
        case SessionUpdated() as updated:
            return ", ".join(f"{name}: {value}" for name, value in msgspec.to_builtins(updated).items())
        case SessionEnded() as ended:
            return f"{ended.reason} by {ended.terminated_by}  {ended.message or ''}".rstrip()
        case TurnStarted() as started:
            return started.turn_id
        case ModelResponded() as response:
            facts = (response.model, tokens(response.usage), cost(response.cost_usd))
            return "  ".join(fact for fact in facts if fact)
        case TurnEnded() as ended:
            facts = (ended.stop_reason, tokens(ended.usage), cost(ended.cost_usd), ended.error)
            return "  ".join(fact for fact in facts if fact)
        case PermissionRequested() | PermissionResolved() as ask:
            return f"{ask.permission_id}  {ask.reply or ask.status}  {ask.tool or ask.action}: {compact(ask.input)}"
        case QuestionRequested() | QuestionResolved() as ask:
            return f"{ask.question_id}  {ask.status}  {one_line(ask.prompt)}"
        case ToolRequested() | ToolResolved() as ask:
            return f"{ask.tool_id}  {ask.status}  {ask.name}: {compact(ask.input)}"
        case Error() as error:
            return error_text(error)
        case Unparsed() as unparsed:
            return f"{unparsed.location}: {one_line(unparsed.error)}"
        case _:
            return ""


def item_summary(item: Item) -> str:
    summaries: list[str] = []
    for part in item.content:
        match part:
            case TextPart() | ReasoningPart():
                summaries.append(one_line(part.text))
            case ToolCallPart():
                summaries.append(f"{part.name} {one_line(part.arguments)}")
            case ToolResultPart():
                summaries.append(one_line(part.output))
            case FileRefPart():
                summaries.append(f"{part.action} {part.path}")
            case StatusPart():
                summaries.append(part.label)
            case _:
                summaries.append(f"({type(part).__struct_config__.tag})")
    return "  ".join(summaries)


def error_text(error: Error) -> str:
    words = one_line(error.message, 300)
    if error.code:
        words += f" ({error.code})"
    if error.retry:
        of = f" of {error.retry.max}" if error.retry.max else ""
        words += f"; attempt {error.retry.attempt}{of}, again in {error.retry.delay_ms / 1000:g} s"
    return words
