"""Calls that read and change files in a session's directory. Paths are relative to it and cannot leave it."""

from everyagent.client.call import ApiCall, decoded, get, params, path, post
from everyagent.model.responses import FsEntry, FsMoved, FsPath, FsStat, FsUnpacked, FsWritten

_entries = decoded(list[FsEntry])
_stat = decoded(FsStat)
_written = decoded(FsWritten)
_path = decoded(FsPath)
_moved = decoded(FsMoved)
_uploaded = decoded(FsUnpacked)


def list_files(session_id: str, directory: str = ".") -> ApiCall[list[FsEntry]]:
    """The entries of one directory."""
    return get(path("fs", "entries"), _entries, params(sessionId=session_id, path=directory))


def read_file(session_id: str, file: str) -> ApiCall[bytes]:
    """The content of a file in the session's directory."""
    return get(path("fs", "file"), lambda response: response.body, params(sessionId=session_id, path=file))


def write_file(session_id: str, file: str, content: bytes) -> ApiCall[FsWritten]:
    """Write a file, and create missing parent directories."""
    return ApiCall(
        method="PUT",
        path=path("fs", "file"),
        decode=_written,
        params=params(sessionId=session_id, path=file),
        body=content,
        media="application/octet-stream",
    )


def delete_file(session_id: str, file: str, *, recursive: bool = False) -> ApiCall[FsPath]:
    """Delete a file, or with `recursive` a directory and everything in it."""
    asked = params(sessionId=session_id, path=file, recursive=recursive or None)
    return ApiCall(method="DELETE", path=path("fs", "entry"), decode=_path, params=asked)


def make_directory(session_id: str, directory: str) -> ApiCall[FsPath]:
    """Make a directory, and missing ones above it."""
    return post(path("fs", "mkdir"), _path, params=params(sessionId=session_id, path=directory))


def move_file(session_id: str, source: str, target: str, *, overwrite: bool = False) -> ApiCall[FsMoved]:
    """Move or rename a file. One that is there is an error, unless `overwrite`."""
    body = {"from": source, "to": target, "overwrite": overwrite}
    return post(path("fs", "move"), _moved, body, params=params(sessionId=session_id))


def stat_file(session_id: str, file: str) -> ApiCall[FsStat]:
    """The size, kind and time of a file."""
    return get(path("fs", "stat"), _stat, params(sessionId=session_id, path=file))


def upload(session_id: str, tar: bytes, directory: str = ".") -> ApiCall[FsUnpacked]:
    """Unpack a tar archive into a directory of the session."""
    call = post(path("fs", "upload-batch"), _uploaded, params=params(sessionId=session_id, path=directory))
    return ApiCall(
        method="POST",
        path=call.path,
        decode=_uploaded,
        params=call.params,
        body=tar,
        media="application/x-tar",
        key=call.key,
    )
