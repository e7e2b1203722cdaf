"""The store of files: uploads, copies for sessions, and outputs of sessions."""

import asyncio
import mimetypes
import os
import re
import secrets
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple

import msgspec

from everyagent.clock import Clock, rfc3339
from everyagent.errors import BadRequest, NotFound
from everyagent.held_folders import held
from everyagent.log.log import Order
from everyagent.log.records import Delete, Insert, Record, RecordQuery, Records, Uploaded
from everyagent.managed.resources.files.shape import File, FileBody, FileListQuery, FilePage, FileScope
from everyagent.managed.resources.pages import cursor, position
from everyagent.managed.resources.record_store import Deleted, moment
from everyagent.model.ids import new_id

KIND = "file"
_LIMIT = 20
#: More than the resources and outputs of one session together.
_SESSION_FILES = 4000
_PIECE = 1 << 20
_SECOND = 1_000_000
_SWEEP_MICROS = 600 * _SECOND
_NAME_BYTES = 255
_UNSAFE = re.compile(r'[\x00-\x1f\x7f<>:"|?*\\/]')


class KnownOutput(NamedTuple):
    id: str
    size: int
    modified_ns: int


class FileStore:
    """Expired files cannot be used any more, and are deleted from disk some time later.

    `folder` holds copies for agents of files that are attached to messages.
    """

    def __init__(self, records: Records, folder: Path, clock: Clock) -> None:
        self._records = records
        self._folder = folder
        self._clock = clock
        self._swept_at = 0

    def upload(self, pieces: AsyncIterator[bytes]) -> AbstractAsyncContextManager[Uploaded]:
        return self._records.upload(pieces)

    async def add(
        self, uploaded: Uploaded, filename: str | None, media_type: str | None, expires_in: int | None = None
    ) -> File:
        await self._sweep()
        name = checked_name(filename) if filename else f"unnamed{mimetypes.guess_extension(media_type or '') or ''}"
        body = FileBody(
            filename=name,
            mime_type=_media_type(name, media_type),
            size_bytes=uploaded.size,
            digest=uploaded.digest.hex(),
            expires_at=None if expires_in is None else self._clock.micros() + expires_in * _SECOND,
        )
        (record,) = await self._records.write(_insert(body, uploads=[uploaded]))
        return _file(record)

    async def copy(self, file_id: str, session_id: str) -> File:
        """Copies a file for a session. The copy stays when the original is deleted."""
        body = msgspec.structs.replace(_body(await self._find(file_id)), expires_at=None)
        (record,) = await self._records.write(_insert(body, parent=session_id, blobs=[bytes.fromhex(body.digest)]))
        return _file(record)

    async def outputs(self, session_id: str) -> dict[str, KnownOutput]:
        """The files made from a session's outputs, by path."""
        records = await self._records.page(RecordQuery(kind=KIND, parent=session_id, limit=_SESSION_FILES))
        pairs = [(record, _body(record)) for record in records]
        return {
            body.source: KnownOutput(record.id, body.size_bytes, body.modified_ns)
            for record, body in pairs
            if body.source is not None
        }

    async def keep_output(
        self, session_id: str, uploaded: Uploaded, source: str, modified_ns: int, before: KnownOutput | None
    ) -> None:
        """Stores an output, in place of its earlier version."""
        name = checked_name(source)
        body = FileBody(
            filename=name,
            mime_type=_media_type(name, None),
            size_bytes=uploaded.size,
            digest=uploaded.digest.hex(),
            source=source,
            modified_ns=modified_ns,
        )
        gone = [Delete(kind=KIND, id=before.id)] if before else []
        await self._records.write(*gone, _insert(body, parent=session_id, uploads=[uploaded]))

    async def retrieve(self, file_id: str) -> File:
        return _file(await self._find(file_id))

    async def open(self, file_id: str) -> tuple[File, BinaryIO]:
        record = await self._find(file_id)
        return _file(record), await self._records.blob(bytes.fromhex(_body(record).digest))

    async def path(self, file_id: str) -> tuple[File, Path]:
        """A copy of the file for agents, under its own name. It is deleted with the file."""
        file, content = await self.open(file_id)
        target = self._folder / file.id / fitting(file.filename)
        with content:
            if not await asyncio.to_thread(target.exists):
                try:
                    await asyncio.to_thread(write_read_only, content, self._folder, [file.id, target.name])
                except OSError:
                    with suppress(OSError):  # another copy may be in it
                        target.parent.rmdir()
                    raise
        return file, target

    async def delete(self, file_id: str) -> Deleted:
        await self._records.write(Delete(kind=KIND, id=file_id))
        await asyncio.to_thread(shutil.rmtree, self._folder / file_id, ignore_errors=True)
        return Deleted(id=file_id, type="file_deleted")

    async def list(self, asked: FileListQuery) -> FilePage:
        await self._sweep()
        if asked.ids is not None:
            if asked.page or asked.limit or asked.after_id or asked.before_id:
                raise BadRequest("`ids` stands alone: without `page` and `limit`.", field="ids")
            return self._page(await self._those(asked), None, more=False)
        limit = asked.limit or _LIMIT
        backwards = asked.before_id is not None and asked.after_id is None
        order: Order = "asc" if backwards else "desc"
        after = await self._after(asked)
        found = await self._records.page(
            RecordQuery(kind=KIND, parent=asked.scope_id, limit=limit, order=order, after=after)
        )
        more, found = len(found) > limit, found[:limit]
        page = cursor(found[-1].number, "desc") if more and not backwards else None
        return self._page([*reversed(found)] if backwards else found, page, more=more)

    async def _those(self, asked: FileListQuery) -> "list[Record]":
        ids = asked.ids or []
        return await self._records.page(RecordQuery(kind=KIND, parent=asked.scope_id, ids=ids, limit=len(ids)))

    async def _after(self, asked: FileListQuery) -> int | None:
        if asked.page:
            return position(asked.page, "desc")
        neighbour = asked.after_id or asked.before_id
        return (await self._records.find(KIND, neighbour)).number if neighbour else None

    def _page(self, records: "list[Record]", page: str | None, *, more: bool) -> FilePage:
        files = [_file(record) for record in records if not self._expired(record)]
        return FilePage(
            data=files,
            next_page=page,
            has_more=more,
            first_id=records[0].id if records else None,
            last_id=records[-1].id if records else None,
        )

    async def _find(self, file_id: str) -> Record:
        record = await self._records.find(KIND, file_id)
        if self._expired(record):
            raise NotFound(f"The file {file_id} has expired.", error_code="file_expired")
        return record

    def _expired(self, record: Record) -> bool:
        expires_at = _body(record).expires_at
        return expires_at is not None and expires_at <= self._clock.micros()

    async def _sweep(self) -> None:
        now = self._clock.micros()
        if now - self._swept_at < _SWEEP_MICROS:
            return
        self._swept_at = now
        after: int | None = None
        while True:
            page = await self._records.page(RecordQuery(kind=KIND, limit=1000, after=after))
            for record in page:
                if self._expired(record):
                    await self.delete(record.id)
            if len(page) <= 1000:
                return
            after = page[-1].number


async def pieces_of(file: BinaryIO) -> AsyncIterator[bytes]:
    """The bytes of an open file, which is closed at the end."""
    with file:
        while piece := await asyncio.to_thread(file.read, _PIECE):
            yield piece


def write_read_only(content: BinaryIO, root: Path, parts: Sequence[str]) -> None:
    """Blocking. Writes a read-only file below the root, through no link: all of it or nothing.

    Each call has a separate draft, so calls may run concurrently, and a draft left by a crash blocks no later call.
    """
    *parents, name = parts
    root.mkdir(parents=True, exist_ok=True)
    with held(root, parents, create=True) as folder:
        draft = f".{secrets.token_hex(8)}.draft"
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        try:
            with os.fdopen(descriptor, "wb") as file:
                shutil.copyfileobj(content, file, _PIECE)
                os.fchmod(descriptor, 0o444)
            os.replace(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            os.unlink(draft, dir_fd=folder)
            raise


def fitting(name: str) -> str:
    """The name, shortened to what file systems accept; its suffix stays."""
    pure = PurePosixPath(name)
    suffix = pure.suffix if len(pure.suffix.encode()) < _NAME_BYTES // 2 else ""
    stem = name.removesuffix(suffix).encode()[: _NAME_BYTES - len(suffix.encode())]
    return stem.decode("utf-8", "ignore") + suffix


def checked_name(filename: str) -> str:
    """The last component of a path, without characters that file systems reject."""
    name = _UNSAFE.sub("_", PurePosixPath(filename.replace("\\", "/")).name)
    if not 1 <= len(name) <= 255 or name in (".", ".."):
        raise BadRequest("A file needs a name of 1 to 255 characters.", field="file")
    return name


def _media_type(filename: str, given: str | None) -> str:
    if given and given != "application/octet-stream":
        return given
    return mimetypes.guess_type(filename)[0] or given or "application/octet-stream"


def _insert(
    body: FileBody, *, parent: str = "", uploads: "list[Uploaded] | None" = None, blobs: "list[bytes] | None" = None
) -> Insert:
    return Insert(
        kind=KIND,
        id=new_id("file_"),
        parent=parent,
        key=body.source,
        body=msgspec.json.encode(body),
        uploads=uploads or (),
        blobs=blobs or (),
    )


def _body(record: Record) -> FileBody:
    return msgspec.json.decode(record.body, type=FileBody)


def _file(record: Record) -> File:
    body = _body(record)
    return File(
        id=record.id,
        filename=body.filename,
        mime_type=body.mime_type,
        size_bytes=body.size_bytes,
        created_at=rfc3339(record.created_at),
        expires_at=moment(body.expires_at),
        downloadable=True,
        scope=FileScope(id=record.parent) if record.parent else None,
    )
