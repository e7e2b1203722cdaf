"""Files: upload, list with both styles of paging, download, delete."""

import anthropic
from loose import Loose
from refused import refused

NEW = int(anthropic.__version__.partition(".")[0]) >= 1


def flow(client: Loose) -> None:
    files = client.beta.files
    content = bytes(range(256)) * 5000
    made = files.upload(file=("folder/data.bin", content, "application/x-data"))
    assert (made.filename, made.mime_type, made.size_bytes) == ("data.bin", "application/x-data", len(content))
    assert made.type == "file"
    assert made.downloadable
    assert files.retrieve_metadata(made.id) == made
    assert files.download(made.id).read() == content
    assert files.upload(file=("notes.md", b"# Notes")).mime_type == "text/markdown"
    empty = files.upload(file=("empty", b""))
    assert (empty.size_bytes, empty.mime_type) == (0, "application/octet-stream")
    assert files.download(empty.id).read() == b""

    several = [files.upload(file=(f"{n}.txt", b"same")).id for n in range(5)]
    listed = [each.id for each in files.list(limit=2)]
    assert listed[:7] == [*reversed(several), empty.id, listed[6]]
    assert [each.id for each in files.list(scope_id="sesn_nobody")] == []
    pages(files, several)

    for file_id in several:
        assert files.delete(file_id).type == "file_deleted"
    error = refused(anthropic.NotFoundError, lambda: files.retrieve_metadata(several[0]))
    assert error.body["error"]["type"] == "not_found_error"
    refused(anthropic.NotFoundError, lambda: files.download(several[0]))
    refused(anthropic.NotFoundError, lambda: files.delete(several[0]))


def pages(files: Loose, several: list[Loose]) -> None:
    if NEW:
        assert {each.id for each in files.list(ids=[several[0], several[3], "file_nobody"])} == {several[0], several[3]}
        brief = files.upload(file=("brief.txt", b"soon gone"), expires_in_seconds=3600)
        assert brief.expires_at is not None
        files.delete(brief.id)
        refused(anthropic.BadRequestError, lambda: files.upload(file=("x", b""), expires_in_seconds=5))
        refused(anthropic.BadRequestError, lambda: files.list(ids=[several[0]], limit=3))
    else:
        older = files.list(after_id=several[4], limit=2)
        assert [each.id for each in older.data] == [several[3], several[2]]
        assert older.has_more
        newer = files.list(before_id=several[2], limit=1)
        assert [each.id for each in newer.data] == [several[3]]
        assert newer.has_more
