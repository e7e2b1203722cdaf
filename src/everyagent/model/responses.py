"""Response bodies of the universal API: the server encodes them, the Python client decodes them."""

from typing import Literal, TypeAlias

from msgspec import Struct

from everyagent.model.agents import Mode, Model
from everyagent.model.policies import AgentTool
from everyagent.model.sessions import AskInfo, FrameInfo, QueuedMessage, SearchHit, SendMessage, SessionInfo

EntryType: TypeAlias = Literal["file", "directory", "symlink", "other"]


class StorageState(Struct, frozen=True, kw_only=True):
    """`full`: the disk is full. `lost`: the database was deleted, and nothing is written. `damaged`: some records are.

    `damaged` counts events and frames that were found damaged since the start. All others can be read.
    """

    condition: Literal["ok", "full", "lost", "damaged"] = "ok"
    damaged: int = 0


class Health(Struct, frozen=True, kw_only=True):
    status: Literal["ok"]
    version: str
    storage: StorageState = StorageState()


class NodeStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """`leaseSeconds` were left of its lease when this node last looked; `liveSessions` have a running agent.

    `lag` is the number of commits of other nodes that it found in the store before they were announced.
    """

    node_id: str
    name: str
    url: str
    version: str
    started_at: int
    lease_seconds: float
    live_sessions: int
    lag: int = 0


class BusStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """The link over which a node announces its commits. All are counts of messages since its start.

    `dropped` could not be sent; `gaps` were found missing, and their events read from the store.
    """

    kind: Literal["nats", "notify"]
    connected: bool
    sent: int
    received: int
    dropped: int
    gaps: int


class ClusterStatus(Struct, frozen=True, kw_only=True, rename="camel"):
    """`nodeId` is the node that answers, null if it is in no cluster. `bus` is its link to the others."""

    node_id: str | None
    nodes: list[NodeStatus]
    bus: BusStatus | None = None


class ModelList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`openModels`: the agent also accepts models that are not listed."""

    models: list[Model]
    default_model: str | None
    open_models: bool


class ModeList(Struct, frozen=True, kw_only=True, rename="camel"):
    """`modes` are the agent's own; `permissionModes` have the same names for every agent."""

    modes: list[Mode]
    permission_modes: list[Mode]


class ToolList(Struct, frozen=True, kw_only=True, rename="camel"):
    """The agent's own tools, which tool policies can name. `openTools`: the agent may have more than are listed."""

    tools: list[AgentTool]
    open_tools: bool


class SessionPage(Struct, frozen=True, kw_only=True, rename="camel"):
    sessions: list[SessionInfo]
    next_page: str | None


class MessageQueue(Struct, frozen=True):
    messages: list[QueuedMessage]


class Cancelled(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """`cancelled`: whether a turn was running. `withdrawn` are the messages that waited and will not be sent."""

    cancelled: bool
    withdrawn: list[SendMessage] = []


class AskList(Struct, frozen=True):
    asks: list[AskInfo]


class FrameList(Struct, frozen=True, kw_only=True, rename="camel"):
    frames: list[FrameInfo]
    has_more: bool


class SearchHits(Struct, frozen=True):
    hits: list[SearchHit]


class FsStat(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    entry_type: EntryType
    size: int
    modified: str


class FsEntry(Struct, frozen=True, kw_only=True, rename="camel"):
    name: str
    path: str
    entry_type: EntryType
    size: int
    modified: str


class FsWritten(Struct, frozen=True, kw_only=True, rename="camel"):
    path: str
    bytes_written: int


class FsPath(Struct, frozen=True):
    path: str


class FsMoved(Struct, frozen=True, kw_only=True, rename={"source": "from", "target": "to"}):
    source: str
    target: str


class FsUnpacked(Struct, frozen=True, kw_only=True):
    """`paths` lists at most 1,024 of the unpacked files; `truncated` says that there are more."""

    paths: list[str]
    truncated: bool
