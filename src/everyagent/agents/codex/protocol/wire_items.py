"""Items in Codex's notifications: messages, commands, patches, tool calls. Decode only."""

from typing import Any

from msgspec import Raw, field

from everyagent.agents.codex.protocol.wire import CodexWire


class FileChange(CodexWire, frozen=True):
    path: str
    diff: str = ""
    kind: "ChangeKind" = field(default_factory=lambda: ChangeKind())


class ChangeKind(CodexWire, frozen=True):
    type: str = "update"
    move_path: str | None = field(default=None, name="move_path")


class ErrorMessage(CodexWire, frozen=True):
    message: str = ""


class McpResult(CodexWire, frozen=True):
    content: list[dict[str, Any]] = []
    structured_content: Any = None


class CommandAction(CodexWire, frozen=True):
    type: str = ""
    path: str | None = None


class CodexItem(CodexWire, frozen=True):
    """Every item type's fields in one: a type uses those it has."""

    type: str
    id: str = ""
    status: str | None = None
    text: str = ""
    phase: str | None = None
    content: list[Any] = []
    summary: list[str] = []
    command: str = ""
    cwd: str | None = None
    aggregated_output: str | None = None
    exit_code: int | None = None
    duration_ms: int | None = None
    command_actions: list[CommandAction] = []
    changes: list[FileChange] = []
    server: str = ""
    tool: str = ""
    namespace: str | None = None
    name: str = ""
    arguments: Raw = Raw(b"{}")
    result: Any = None
    error: ErrorMessage | None = None
    content_items: list[dict[str, Any]] | None = None
    success: bool | None = None
    prompt: str | None = None
    model: str | None = None
    receiver_thread_ids: list[str] = []
    agents_states: Any = None
    kind: str = ""
    agent_thread_id: str = ""
    agent_path: str = ""
    query: str = ""
    action: Any = None
    results: Any = None
    path: str = ""
    review: str = ""
    revised_prompt: str | None = None
    saved_path: str | None = None
    output: Any = None
    fragments: list[dict[str, Any]] = []


class UserPart(CodexWire, frozen=True):
    text: str = ""


class ItemNotice(CodexWire, frozen=True):
    item: CodexItem
    thread_id: str = ""
    turn_id: str = ""


class ModelItem(CodexWire, frozen=True):
    """Input or output of the model, as in its API: these names have underscores."""

    type: str = ""
    call_id: str = field(default="", name="call_id")
    name: str = ""
    namespace: str | None = None
    arguments: str = ""
    input: str = ""
    output: Any = None


class ModelItemNotice(CodexWire, frozen=True):
    item: ModelItem
    thread_id: str = ""
