"""Status items for files, plans, compaction and sub-tasks. Pure."""

from collections.abc import Sequence

from everyagent.agents import items
from everyagent.agents.adapter import Draft
from everyagent.agents.opencode.decode import patches
from everyagent.agents.opencode.protocol.wire import FileDiff, McpState, OpencodePart, TodoEntry
from everyagent.model.events import ItemCompleted, ItemStarted
from everyagent.model.parts import FileRefPart, ImagePart, StatusPart

_COMPACTION = "compaction"


def patch(part: OpencodePart, subagent: str | None) -> Sequence[Draft]:
    """The files that a step has changed."""
    files = [FileRefPart(path=file, action="patch") for file in part.files]
    return items.whole(items.status(part.id, "patch", files, native=part.id, parent=part.message, subagent=subagent))


def file(part: OpencodePart, subagent: str | None) -> Sequence[Draft]:
    """A file that the model made."""
    head, _, data = part.url.partition(";base64,")
    path = part.filename or "file"
    if part.mime.startswith("image/"):
        made = ImagePart(path=path, mime=part.mime, data=data if head.startswith("data:") else None)
    else:
        made = FileRefPart(path=path, action="write")
    return items.whole(items.status(part.id, "file", [made], native=part.id, parent=part.message, subagent=subagent))


def edited(key: str, file: str, call: str | None) -> Sequence[Draft]:
    return items.whole(items.status(key, "file_edited", [FileRefPart(path=file, action="write")], parent=call))


def subtask(part: OpencodePart, subagent: str | None) -> Sequence[Draft]:
    """The task that a command gives to a sub-agent; the call that starts it comes next."""
    label = StatusPart(label=part.description or "Sub-task", detail=f"{part.agent}: {part.prompt}")
    return items.whole(items.status(part.id, "subtask", [label], native=part.id, subagent=subagent))


def compacting(part: OpencodePart, subagent: str | None) -> Sequence[Draft]:
    label = StatusPart(label="Compacting the conversation", detail="The context was full." if part.auto else None)
    item = items.status(part.id, _COMPACTION, [label], native=part.id, subagent=subagent, state="in_progress")
    return (ItemStarted(item=item),)


def compacted(key: str) -> Sequence[Draft]:
    """`key` is that of the part with which it began."""
    label = StatusPart(label="Conversation compacted")
    return (ItemCompleted(item=items.status(key, _COMPACTION, [label], native=key)),)


def plan(key: str, todos: Sequence[TodoEntry]) -> Sequence[Draft]:
    steps = [StatusPart(label=todo.content, detail=todo.status) for todo in todos]
    return items.whole(items.status(key, "plan", steps))


def turn_diff(key: str, diffs: list[FileDiff]) -> Sequence[Draft]:
    """All changes of the turn."""
    return items.whole(items.status(key, "turn_diff", patches.changed(diffs)))


def needs_browser(key: str, server: str, url: str) -> Sequence[Draft]:
    return items.notice(key, "mcp_server", f"The MCP server {server} wants a login in a browser", url)


def mcp_state(name: str, state: McpState | None) -> Sequence[Draft]:
    """Only a failure is reported."""
    if state is None or state.status != "failed":
        return ()
    return items.notice(f"mcp {name}", "mcp_server", f"The MCP server {name} did not start", state.error)
