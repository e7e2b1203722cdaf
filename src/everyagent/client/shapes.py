"""What the daemon answers where the model has no word for it: pages, agents, files.

Fields a newer daemon adds are ignored; fields that an older one lacks have defaults.
"""

from typing import Literal

from msgspec import Raw, Struct

from everyagent.model.parts import Json
from everyagent.model.policies import AgentTool
from everyagent.model.sessions import AskInfo, FrameInfo, SearchHit, SessionInfo


class Health(Struct, frozen=True, kw_only=True):
    status: str
    version: str = ""


class AgentInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    installed: bool
    credentials_available: bool
    title: str = ""
    version: str | None = None
    tested_version: str | None = None
    path: str | None = None
    login: str | None = None
    problem: str | None = None
    capabilities: dict[str, bool] = {}
    unknown_frames: int = 0


class AgentList(Struct, frozen=True, kw_only=True):
    agents: list[AgentInfo]


class ModelInfo(Struct, frozen=True, kw_only=True, rename="camel"):
    id: str
    name: str | None = None
    variants: list[str] = []
    default_variant: str | None = None


class Models(Struct, frozen=True, kw_only=True, rename="camel"):
    models: list[ModelInfo]
    default_model: str | None = None
    open_models: bool = False


class ModeInfo(Struct, frozen=True, kw_only=True):
    id: str
    name: str = ""
    description: str = ""


class Modes(Struct, frozen=True, kw_only=True, rename="camel"):
    modes: list[ModeInfo]
    permission_modes: list[ModeInfo] = []


class AgentTools(Struct, frozen=True, kw_only=True, rename="camel"):
    tools: list[AgentTool]
    open_tools: bool = False


class SessionPage(Struct, frozen=True, kw_only=True, rename="camel"):
    sessions: list[SessionInfo]
    next_page: str | None = None


class StoredEvents(Struct, frozen=True, kw_only=True, rename="camel"):
    """Events still encoded: each is read by itself, so that one of a newer kind spoils no other."""

    events: list[Raw]
    has_more: bool
    head: int


class FramePage(Struct, frozen=True, kw_only=True, rename="camel"):
    frames: list[FrameInfo]
    has_more: bool


class AskList(Struct, frozen=True, kw_only=True):
    asks: list[AskInfo]


class Hits(Struct, frozen=True, kw_only=True):
    hits: list[SearchHit]


class Cancelled(Struct, frozen=True, kw_only=True):
    cancelled: bool


class FsEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    path: str
    entry_type: Literal["file", "directory"]
    size: int
    modified: str | None = None


class FsStat(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    entry_type: Literal["file", "directory"]
    size: int
    modified: str | None = None


class FsWritten(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    bytes_written: int


class FsPath(Struct, frozen=True, kw_only=True):
    path: str


class FsMoved(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    source: str
    target: str


class FsUploaded(Struct, frozen=True, kw_only=True):
    paths: list[str]
    truncated: bool


OpenApi = dict[str, Json]
