"""Routes that read and write files in a session's directory."""

import os
from contextlib import ExitStack
from functools import partial
from typing import Annotated, TypeVar

from anyio import to_thread
from msgspec import Meta, Struct

from everyagent.api.request_decoding import media_type
from everyagent.api.routing import Call, Nothing, Routes, Spooled, Upload
from everyagent.api.streaming import Download
from everyagent.api.universal import directory_entries
from everyagent.api.universal.atomic_write import AtomicWrite
from everyagent.api.universal.confined_directory import ConfinedDirectory, not_the_root
from everyagent.api.universal.directory_entries import printable
from everyagent.api.universal.key_limits import refuse_data_folder
from everyagent.errors import Conflict, Forbidden, NotFound, SessionNotFound, StorageFull, TooLarge, UnsupportedMedia
from everyagent.model.responses import FsEntry, FsMoved, FsPath, FsStat, FsUnpacked, FsWritten

routes = Routes("files")
Q = TypeVar("Q")
B = TypeVar("B")
_ERRORS = (SessionNotFound, NotFound, Forbidden)
_WRITE_ERRORS = (*_ERRORS, Conflict, StorageFull)
_LISTED = 1024
_PIECE = 1 << 18
_TAR = ("application/x-tar", "application/gzip", "application/x-gzip", "application/octet-stream")

_RULE = "Relative to the session's directory, or absolute and inside it."
FsPathText = Annotated[str, Meta(min_length=1, max_length=4096, description=_RULE)]


class OptionalPathQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str
    path: FsPathText = "."


class PathQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str
    path: FsPathText


class RemoveQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str
    path: FsPathText
    recursive: bool = False


class MoveQuery(Struct, frozen=True, kw_only=True, rename="camel"):
    session_id: str


class FsMove(Struct, frozen=True, kw_only=True, rename={"origin": "from"}, forbid_unknown_fields=True):
    """`overwrite` replaces an existing file or a whole directory."""

    origin: FsPathText
    to: FsPathText
    overwrite: bool | None = False


@routes.add("GET", "/v1/fs/entries", *_ERRORS, on_owner=True)
async def list_entries(call: Call[OptionalPathQuery, Nothing]) -> list[FsEntry]:
    """List the entries of a directory, sorted by name."""
    directory = await _directory(call, call.query.session_id)
    return await to_thread.run_sync(directory_entries.list_directory, directory, call.query.path)


@routes.add("GET", "/v1/fs/stat", *_ERRORS, on_owner=True)
async def stat_entry(call: Call[PathQuery, Nothing]) -> FsStat:
    """Get the type, size and modification time of a file or directory."""
    directory = await _directory(call, call.query.session_id)
    return await to_thread.run_sync(directory_entries.stat_entry, directory, call.query.path)


@routes.add("GET", "/v1/fs/file", *_ERRORS, media=("application/octet-stream",), on_owner=True)
async def read_file(call: Call[PathQuery, Nothing]) -> Download:
    """Download a file."""
    directory = await _directory(call, call.query.session_id)
    descriptor, status = await to_thread.run_sync(directory_entries.open_file, directory, call.query.path)
    name = os.path.basename(call.query.path)
    return Download(_FilePieces(descriptor), "application/octet-stream", filename=name, size=status.st_size)


@routes.add("PUT", "/v1/fs/file", *_WRITE_ERRORS, TooLarge, takes=("application/octet-stream",), on_owner=True)
async def write_file(call: Call[PathQuery, Upload]) -> FsWritten:
    """Write a file atomically, and create missing parent directories."""
    directory = await _directory(call, call.query.session_id)
    with ExitStack() as held:
        finding = directory.place(call.query.path, create_parents=True)
        place = not_the_root(await to_thread.run_sync(held.enter_context, finding))
        file = held.enter_context(await to_thread.run_sync(AtomicWrite, place))
        async for piece in call.body.pieces:
            await to_thread.run_sync(file.write, piece)
        await to_thread.run_sync(file.keep)
        return FsWritten(path=printable(place.path), bytes_written=file.size)


@routes.add("DELETE", "/v1/fs/entry", *_WRITE_ERRORS, on_owner=True)
async def remove_entry(call: Call[RemoveQuery, Nothing]) -> FsPath:
    """Remove a file, a link or a directory."""
    directory = await _directory(call, call.query.session_id)
    removing = partial(directory_entries.remove, directory, call.query.path, recursive=call.query.recursive)
    return FsPath(path=await to_thread.run_sync(removing))


@routes.add("POST", "/v1/fs/mkdir", *_WRITE_ERRORS, effect=True, on_owner=True)
async def make_directory(call: Call[PathQuery, Nothing]) -> FsPath:
    """Create a directory and its missing parents."""
    directory = await _directory(call, call.query.session_id)
    return FsPath(path=printable(await to_thread.run_sync(directory.mkdir, call.query.path)))


@routes.add("POST", "/v1/fs/move", *_WRITE_ERRORS, effect=True, on_owner=True)
async def move_entry(call: Call[MoveQuery, FsMove]) -> FsMoved:
    """Move or rename a file or directory."""
    directory = await _directory(call, call.query.session_id)
    moving = partial(
        directory_entries.move, directory, call.body.origin, call.body.to, overwrite=bool(call.body.overwrite)
    )
    source, target = await to_thread.run_sync(moving)
    return FsMoved(source=source, target=target)


@routes.add(
    "POST", "/v1/fs/upload-batch", *_WRITE_ERRORS, TooLarge, UnsupportedMedia, takes=_TAR, effect=True, on_owner=True
)
async def upload_batch(call: Call[OptionalPathQuery, Spooled]) -> FsUnpacked:
    """Upload many files at once: unpack a tar archive, plain or gzipped, under `path`."""
    from everyagent.api.universal.tar_upload import unpack  # loaded when needed

    found = media_type(call.scope)
    if found not in _TAR:
        raise UnsupportedMedia(f"Send a tar archive as one of {', '.join(_TAR)}.", contentType=found or None)
    directory = await _directory(call, call.query.session_id)
    limit = call.context.settings.max_upload
    unpacking = partial(unpack, call.body.file, directory, call.query.path, limit=limit, listed=_LISTED)
    done = await to_thread.run_sync(unpacking)
    return FsUnpacked(paths=[printable(path) for path in done.paths], truncated=done.total > len(done.paths))


async def _directory(call: Call[Q, B], session_id: str) -> ConfinedDirectory:
    root = await call.sessions.directory(session_id)
    refuse_data_folder(root, call.context.settings)
    return ConfinedDirectory(root)


class _FilePieces:
    """Reads an open file in pieces."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __aiter__(self) -> "_FilePieces":
        return self

    async def __anext__(self) -> bytes:
        piece = await to_thread.run_sync(os.read, self._descriptor, _PIECE)
        if not piece:
            raise StopAsyncIteration
        return piece

    async def aclose(self) -> None:
        os.close(self._descriptor)
