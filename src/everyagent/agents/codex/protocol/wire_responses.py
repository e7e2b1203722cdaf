"""Threads, turns and models in Codex's responses to the daemon. Decode only."""

from msgspec import Struct

from everyagent.agents.codex.protocol.wire import CodexWire, ThreadRef
from everyagent.model.parts import Json


class ThreadInfo(CodexWire, frozen=True):
    """`path` is where Codex keeps its record."""

    id: str = ""
    path: str | None = None


class ThreadNotice(CodexWire, frozen=True):
    thread: ThreadRef


class CollaborationMode(CodexWire, frozen=True):
    mode: str = ""


class ThreadOpened(CodexWire, frozen=True):
    """Answer to `thread/start` and `thread/resume`."""

    thread: ThreadInfo
    model: str = ""
    reasoning_effort: str | None = None
    sandbox: Json = None
    collaboration_mode: CollaborationMode | None = None


class CodexConfig(Struct, frozen=True):
    """The user's configuration, whose names are not camelCase."""

    model: str | None = None
    model_reasoning_effort: str | None = None


class Configured(CodexWire, frozen=True):
    """Answer to `config/read`."""

    config: CodexConfig


class TurnRef(CodexWire, frozen=True):
    id: str = ""


class TurnBegun(CodexWire, frozen=True):
    turn: TurnRef


class Effort(CodexWire, frozen=True):
    reasoning_effort: str = ""


class CodexModel(CodexWire, frozen=True):
    id: str
    display_name: str | None = None
    is_default: bool = False
    hidden: bool = False
    default_reasoning_effort: str | None = None
    supported_reasoning_efforts: list[Effort] = []


class CodexModelList(CodexWire, frozen=True):
    data: list[CodexModel] = []
    next_cursor: str | None = None
