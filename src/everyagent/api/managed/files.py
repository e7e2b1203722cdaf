"""Routes to upload, download and list files."""

from contextlib import AsyncExitStack

import msgspec

from everyagent.api.managed.multipart import MultipartForm
from everyagent.api.routing import Call, Nothing, Routes, Upload
from everyagent.api.streaming import Download
from everyagent.errors import BadRequest, NotFound
from everyagent.managed.resources.files.shape import ExpiresIn, File, FileListQuery, FilePage
from everyagent.managed.resources.files.store import pieces_of
from everyagent.managed.resources.record_store import Deleted

routes = Routes("managed files")


@routes.add("POST", "/anthropic/v1/files", takes=("multipart/form-data",))
async def upload_file(call: Call[Nothing, Upload]) -> File:
    """Upload a file: the part `file`, and optionally `expires_in_seconds`."""
    files = call.managed.files
    uploaded = filename = media_type = expires_in = None
    async with AsyncExitStack() as uploads:
        async for part in MultipartForm(call.scope, call.body.pieces):
            if part.name == "file" and uploaded is None:
                filename, media_type = part.filename, part.media_type
                uploaded = await uploads.enter_async_context(files.upload(part.pieces))
            elif part.name == "expires_in_seconds":
                expires_in = _expires_in(await part.text())
        if uploaded is None:
            raise BadRequest("The form has no part `file`.", field="file")
        return await files.add(uploaded, filename, media_type, expires_in)


@routes.add("GET", "/anthropic/v1/files", on_owner=True)
async def list_files(call: Call[FileListQuery, Nothing]) -> FilePage:
    """List files, newest first; with `scope_id`, those of a session, including its outputs."""
    return await call.managed.list_files(call.query)


@routes.add("GET", "/anthropic/v1/files/{file_id}", NotFound)
async def retrieve_file_metadata(call: Call[Nothing, Nothing]) -> File:
    """The metadata of a file."""
    return await call.managed.files.retrieve(call.path["file_id"])


@routes.add("GET", "/anthropic/v1/files/{file_id}/content", NotFound, media=("application/octet-stream",))
async def download_file(call: Call[Nothing, Nothing]) -> Download:
    """The content of a file."""
    file, content = await call.managed.files.open(call.path["file_id"])
    return Download(pieces_of(content), file.mime_type, filename=file.filename, size=file.size_bytes)


@routes.add("DELETE", "/anthropic/v1/files/{file_id}", NotFound)
async def delete_file(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a file. Copies in sessions stay."""
    return await call.managed.files.delete(call.path["file_id"])


def _expires_in(text: str) -> int:
    try:
        return msgspec.convert(text, ExpiresIn, strict=False)
    except msgspec.ValidationError as error:
        raise BadRequest(f"`expires_in_seconds` is wrong: {error}.", field="expires_in_seconds") from None
