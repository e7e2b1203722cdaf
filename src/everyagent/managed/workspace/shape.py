"""The wire types of session resources: files, repositories, memory stores, and their mount paths."""

from pathlib import PurePosixPath
from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, Struct

from everyagent.errors import BadRequest

MountPath: TypeAlias = Annotated[str, Meta(min_length=1, max_length=1024)]
MAX_RESOURCES = 999
MAX_MEMORY_STORES = 8
UPLOADS = "/mnt/session/uploads"
OUTPUTS = "/mnt/session/outputs"
#: Documents that clients' tools returned.
RESULTS = "/mnt/session/results"
WORKSPACE = "/workspace"
_PATH_BYTES = 1024
_PART_BYTES = 255


class BranchCheckout(Struct, frozen=True, kw_only=True, tag="branch"):
    name: Annotated[str, Meta(pattern="^[^-\x00-\x20~^:?*\\[\\\\][^\x00-\x20~^:?*\\[\\\\]{0,254}$")]


class CommitCheckout(Struct, frozen=True, kw_only=True, tag="commit"):
    sha: Annotated[str, Meta(pattern="^[0-9a-fA-F]{7,64}$")]


Access: TypeAlias = Literal["read_write", "read_only"]
Checkout: TypeAlias = BranchCheckout | CommitCheckout


class FileParams(Struct, frozen=True, kw_only=True, tag="file"):
    file_id: str
    mount_path: MountPath | None = None


class RepositoryParams(Struct, frozen=True, kw_only=True, tag="github_repository"):
    url: Annotated[str, Meta(pattern="^https?://[^ @]+$", max_length=2048)]
    authorization_token: Annotated[str, Meta(max_length=4096)] | None = None
    checkout: Checkout | None = None
    mount_path: MountPath | None = None


class MemoryStoreParams(Struct, frozen=True, kw_only=True, tag="memory_store"):
    """Stays for the life of the session."""

    memory_store_id: str
    access: Access | None = None
    instructions: Annotated[str, Meta(max_length=4096)] | None = None


ResourceParams: TypeAlias = FileParams | RepositoryParams | MemoryStoreParams


class ResourceUpdate(Struct, frozen=True, kw_only=True):
    authorization_token: Annotated[str, Meta(min_length=1, max_length=4096)]


class FileResource(Struct, frozen=True, kw_only=True, tag="file"):
    """`file_id` is the session's own copy of the file."""

    id: str
    file_id: str
    mount_path: str
    created_at: str
    updated_at: str


class RepositoryResource(Struct, frozen=True, kw_only=True, tag="github_repository"):
    id: str
    url: str
    mount_path: str
    checkout: Checkout | None
    created_at: str
    updated_at: str


class MemoryStoreResource(Struct, frozen=True, kw_only=True, tag="memory_store"):
    """Name and description are those at the creation of the session. The store's id is the resource's id."""

    memory_store_id: str
    access: Access
    instructions: str | None
    name: str
    description: str
    mount_path: str


Resource: TypeAlias = FileResource | RepositoryResource | MemoryStoreResource


def checked_mount(path: str, field: str = "mount_path") -> str:
    """The absolute form of a mount path: a relative one lies below the uploads.

    It has no `..` and is short enough for file systems.
    """
    path = path if path.startswith("/") else f"{UPLOADS}/{path}"
    pure = PurePosixPath(path)
    if not pure.is_absolute() or ".." in pure.parts or len(pure.parts) < 2 or any(ord(char) < 32 for char in path):
        raise BadRequest(f"`{field}` must be a path without `..`; {path!r} is not.", field=field)
    if len(path.encode()) > _PATH_BYTES or any(len(part.encode()) > _PART_BYTES for part in pure.parts):
        raise BadRequest(
            f"`{field}` has at most {_PATH_BYTES} bytes, {_PART_BYTES} between two slashes; {path[:80]!r} has more.",
            field=field,
        )
    return "/" + "/".join(pure.parts[1:])


def lies_in(path: str, other: str) -> bool:
    """Whether a path is the other one, or below it."""
    return path == other or path.startswith(f"{other}/")
