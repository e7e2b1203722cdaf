"""Status items for hooks, tasks, compaction and limits. Pure; used by `decode.py`."""

from collections.abc import Sequence

from everyagent.agents import items
from everyagent.agents.adapter import Draft
from everyagent.agents.claude import wire, wire_control
from everyagent.agents.claude.failures import remedied
from everyagent.model.events import Error, ItemCompleted, ItemStarted, SessionUpdated
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import StatusPart

#: So many slash commands are listed: a plugin may have many.
COMMANDS = 500


def commands(key: str, offered: Sequence[wire_control.SlashCommand]) -> Sequence[Draft]:
    parts = [StatusPart(label=f"/{each.name}", detail=each.description or None) for each in offered[:COMMANDS]]
    return items.whole(items.status(f"commands {key}", "commands", parts))


def compacting(frame: wire.ClaudeStatus) -> Sequence[Draft]:
    return _notice(frame.uuid, "compaction", "Compacting the conversation")


def compacted(frame: wire.CompactBoundary) -> Sequence[Draft]:
    facts = frame.compact_metadata
    sizes = f"{facts.pre_tokens} tokens became {facts.post_tokens}" if facts.pre_tokens is not None else None
    return _notice(frame.uuid, "compaction", f"Conversation compacted ({facts.trigger})", sizes)


def denied(frame: wire.PermissionDenied) -> Sequence[Draft]:
    return _notice(frame.uuid, "permission_denied", f"{frame.tool_name} was denied without asking", frame.message)


def task_started(frame: wire.ClaudeTask) -> Sequence[Draft]:
    return _task(frame, f"Task started: {frame.description or frame.task_id}")


def task_progress(frame: wire.ClaudeTask) -> Sequence[Draft]:
    return _task(frame, frame.description or "Task goes on")


def task_ended(frame: wire.ClaudeTask) -> Sequence[Draft]:
    return _task(frame, f"Task {frame.status or 'ended'}", frame.summary)


def hook_started(frame: wire.ClaudeHook) -> Sequence[Draft]:
    return (ItemStarted(item=_hook(frame, "in_progress")),)


def hook_ended(frame: wire.ClaudeHook) -> Sequence[Draft]:
    failed = frame.outcome not in (None, "success") or bool(frame.exit_code)
    return (ItemCompleted(item=_hook(frame, "failed" if failed else "completed")),)


def sentence(name: str, frame: wire.ClaudeNotice) -> Sequence[Draft]:
    text = frame.content or frame.text or frame.summary or frame.error
    return _notice(frame.uuid, name, text) if text else ()


def titled(frame: wire.TitleChanged) -> Sequence[Draft]:
    return (SessionUpdated(title=frame.title),)


def reset(frame: wire.ConversationReset) -> Sequence[Draft]:
    return _notice(frame.uuid, "conversation_reset", "The agent's memory of the conversation was cleared")


def rate_limit(frame: wire.RateLimit) -> Sequence[Draft]:
    """Reports nothing while usage is far from the limit."""
    info = frame.rate_limit_info
    if info.status == "allowed":
        return ()
    details = {"limit": info.rateLimitType, "resets_at": info.resetsAt, "utilization": info.utilization}
    facts = ", ".join(f"{name} {value}" for name, value in details.items() if value is not None)
    if info.status == "rejected":
        return (Error(message=f"The account's limit is reached ({facts}).", code="rate_limited"),)
    return _notice(frame.uuid, "rate_limit", "The account's limit is near", facts)


def auth_status(frame: wire.AuthStatus) -> Sequence[Draft]:
    return (Error(message=remedied(frame.error), code="auth"),) if frame.error else ()


def _task(frame: wire.ClaudeTask, label: str, detail: str | None = None) -> Sequence[Draft]:
    return _notice(frame.uuid, "task", label, detail, parent=frame.tool_use_id)


def _hook(frame: wire.ClaudeHook, state: ItemStatus) -> Item:
    part = StatusPart(label=f"Hook {frame.hook_name}", detail=frame.output or None)
    return items.status(frame.hook_id, "hook", [part], native=frame.hook_id, state=state)


def _notice(
    key: str, name: str, label: str, detail: str | None = None, *, parent: str | None = None
) -> Sequence[Draft]:
    part = StatusPart(label=label, detail=detail)
    return items.whole(items.status(key, name, [part], native=key, parent=parent))
