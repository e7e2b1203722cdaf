"""The file routes, which never leave the session's directory."""

import errno
import io
import os
import tarfile
from pathlib import Path

import pytest

from everyagent.api.universal import tar_upload
from everyagent.api.universal.confined_directory import ConfinedDirectory, os_errors_explained
from everyagent.errors import Conflict, EveryagentError, StorageFull
from tests.api.served import Served

SECRET = "the secret outside"


@pytest.fixture
def outside(served: Served) -> Path:
    """A session `s` whose directory is beside a secret file, with links to that file."""
    served.sessions.add("s")
    root, beside = served.directory, served.directory.parent / "beside"
    beside.mkdir()
    (beside / "secret").write_text(SECRET)
    (served.directory.parent / "project-two").mkdir()
    (served.directory.parent / "project-two" / "secret").write_text(SECRET)
    (root / "sub" / "deep").mkdir(parents=True)
    (root / "sub" / "file").write_text("inside")
    (root / "up").symlink_to("..")
    (root / "abs").symlink_to(beside)
    (root / "rel").symlink_to("../beside")
    (root / "file-link").symlink_to(beside / "secret")
    (root / "rel-file-link").symlink_to("../beside/secret")
    (root / "sub" / "up2").symlink_to("../../beside")
    (root / "sub" / "chain").symlink_to("../rel")
    (root / "chain2").symlink_to("sub/chain/secret")
    (root / "slash").symlink_to("/")
    (root / "etc").symlink_to("/etc")
    (root / "proc").symlink_to("/proc/self/root")
    (root / "dots").symlink_to("sub/../../beside")
    (root / "loop").symlink_to("loop")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "dangling").symlink_to("../beside/new")
    (root / "sub" / "deep" / "far").symlink_to("../../../beside/secret")
    return beside


ESCAPES = [
    "..",
    "../",
    "../beside/secret",
    "../beside",
    "../project-two/secret",
    "./../beside/secret",
    "sub/../../beside/secret",
    "sub/deep/../../../beside/secret",
    "sub/./.././../beside/secret",
    "sub//..//..//beside/secret",
    "....//../../beside/secret",
    "../../../../../../../../etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "/",
    "/..",
    "/proc/self/environ",
    "/proc/self/root/etc/passwd",
    "/dev/zero",
    "{root}/../beside/secret",
    "{root}/sub/../../beside/secret",
    "{root}-two/secret",
    "{root}/..",
    "{outside}/secret",
    "{outside}",
    "up",
    "up/beside/secret",
    "up/../beside/secret",
    "abs",
    "abs/secret",
    "rel",
    "rel/secret",
    "rel/../beside/secret",
    "file-link",
    "rel-file-link",
    "sub/up2/secret",
    "sub/chain",
    "sub/chain/secret",
    "chain2",
    "slash/etc/passwd",
    "slash",
    "etc/passwd",
    "proc/etc/passwd",
    "dots/secret",
    "dots",
    "loop",
    "ping",
    "sub/deep/far",
    "dangling",
    "{root}/abs/secret",
    "sub/../up/beside/secret",
    "\x00",
    "sub/file\x00/../../../beside/secret",
    "~/../../../../etc/passwd",
]


@pytest.mark.parametrize("path", ESCAPES)
async def test_no_path_leads_outside(served: Served, outside: Path, path: str) -> None:
    path = path.format(root=served.directory, outside=outside)
    before = sorted(outside.rglob("*"))
    params = {"sessionId": "s", "path": path}
    await served.client.put("/v1/fs/file", params={"sessionId": "s", "path": "mine"}, content=b"x")
    moves = [{"from": path, "to": "taken", "overwrite": True}, {"from": "mine", "to": f"{path}/x", "overwrite": True}]
    responses = [
        await served.client.get("/v1/fs/file", params=params),
        await served.client.get("/v1/fs/stat", params=params),
        await served.client.get("/v1/fs/entries", params=params),
        await served.client.put("/v1/fs/file", params=params, content=b"overwritten"),
        await served.client.post("/v1/fs/mkdir", params=params | {"path": f"{path}/new"}),
        *[await served.client.post("/v1/fs/move", params={"sessionId": "s"}, json=move) for move in moves[1:]],
    ]
    assert {response.status_code for response in responses} <= {400, 403, 404}
    assert not any(SECRET in response.text for response in responses)
    # A link itself can be removed or moved; its target does not change.
    await served.client.post("/v1/fs/move", params={"sessionId": "s"}, json=moves[0])
    await served.client.delete("/v1/fs/entry", params=params | {"recursive": "true"})
    assert (outside / "secret").read_text() == SECRET
    assert sorted(outside.rglob("*")) == before
    assert sorted(served.directory.parent.iterdir()) == sorted(
        [served.directory, outside, served.directory.parent / "project-two"]
    )


async def test_links_that_stay_inside_are_followed(served: Served, outside: Path) -> None:
    root = served.directory
    (root / "in").symlink_to("sub")
    (root / "in-abs").symlink_to(root / "sub" / "file")
    (root / "sub" / "back").symlink_to("../in/file")
    for path in ("in/file", "in-abs", "sub/back", "in/deep/../file", f"{root}/in/file"):
        assert (await served.client.get("/v1/fs/file", params={"sessionId": "s", "path": path})).text == "inside"
    await served.client.put("/v1/fs/file", params={"sessionId": "s", "path": "in-abs"}, content=b"new")
    assert (root / "sub" / "file").read_text() == "new"
    assert (root / "in-abs").is_symlink()


async def test_a_file_is_written_listed_moved_and_removed(served: Served) -> None:
    served.sessions.add("s")
    client, session = served.client, {"sessionId": "s"}
    content = os.urandom(200 * 1024)
    written = await client.put("/v1/fs/file", params=session | {"path": "a/b/c.bin"}, content=content)
    path = str(served.directory / "a" / "b" / "c.bin")
    assert written.json() == {"path": path, "bytesWritten": len(content)}
    shown = await client.get("/v1/fs/file", params=session | {"path": "a/b/c.bin"})
    assert shown.content == content
    assert shown.headers["content-type"] == "application/octet-stream"
    assert shown.headers["x-content-type-options"] == "nosniff"
    assert (await client.head("/v1/fs/file", params=session | {"path": "a/b/c.bin"})).headers["content-length"]
    stat = (await client.get("/v1/fs/stat", params=session | {"path": "a/b/c.bin"})).json()
    assert (stat["path"], stat["entryType"], stat["size"]) == (path, "file", len(content))
    assert (await client.post("/v1/fs/mkdir", params=session | {"path": "x/y"})).status_code == 200
    move = {"from": "a/b/c.bin", "to": "x/y/d.bin"}
    assert (await client.post("/v1/fs/move", params=session, json=move)).status_code == 200
    entries = (await client.get("/v1/fs/entries", params=session | {"path": "x/y"})).json()
    assert [(entry["name"], entry["entryType"]) for entry in entries] == [("d.bin", "file")]
    top = (await client.get("/v1/fs/entries", params={"session_id": "s"})).json()
    assert [(entry["name"], entry["entryType"]) for entry in top] == [("a", "directory"), ("x", "directory")]
    refused = await client.delete("/v1/fs/entry", params=session | {"path": "x"})
    assert refused.status_code == 409
    assert (await client.delete("/v1/fs/entry", params=session | {"path": "x", "recursive": "true"})).status_code == 200
    assert (await client.delete("/v1/fs/entry", params=session | {"path": "x"})).status_code == 404


async def test_the_directory_itself_cannot_be_removed_or_moved(served: Served) -> None:
    served.sessions.add("s")
    for path in (".", "./", "a/..", str(served.directory)):
        params = {"sessionId": "s", "path": path, "recursive": "true"}
        assert (await served.client.delete("/v1/fs/entry", params=params)).status_code in (403, 404)
    assert served.directory.is_dir()


async def test_moving_replaces_only_with_overwrite(served: Served, outside: Path) -> None:
    client, root = served.client, served.directory
    (root / "one").write_text("1")
    (root / "two").write_text("2")

    async def move(origin: str, to: str, *, overwrite: bool = False) -> int:
        body = {"from": origin, "to": to, "overwrite": overwrite}
        return (await client.post("/v1/fs/move", params={"sessionId": "s"}, json=body)).status_code

    assert await move("one", "two") == 409
    assert await move("one", "two", overwrite=True) == 200
    assert (root / "two").read_text() == "1"
    assert await move("sub", "sub", overwrite=True) == 200
    assert (root / "sub" / "file").read_text() == "inside"
    assert await move("sub/file", "sub", overwrite=True) == 400
    assert await move("sub", "sub/deep/inner") == 400
    assert await move("two", "sub", overwrite=True) == 200
    assert (root / "sub").read_text() == "1"
    assert await move("nothing", "new/parent/x") == 404
    assert not (root / "new").exists()


async def test_a_file_that_is_too_large_leaves_nothing_behind(served: Served) -> None:
    served.sessions.add("s")
    params = {"sessionId": "s", "path": "big"}
    response = await served.client.put("/v1/fs/file", params=params, content=b"x" * 300 * 1024)
    assert response.status_code == 413
    assert list(served.directory.iterdir()) == []


async def test_only_regular_files_are_read_and_written(served: Served) -> None:
    served.sessions.add("s")
    os.mkfifo(served.directory / "pipe")
    (served.directory / "folder").mkdir()
    for path in ("pipe", "folder"):
        params = {"sessionId": "s", "path": path}
        assert (await served.client.get("/v1/fs/file", params=params)).status_code == 400
        assert (await served.client.put("/v1/fs/file", params=params, content=b"x")).status_code == 400


async def test_names_that_are_not_utf8_are_shown_with_escapes(served: Served) -> None:
    served.sessions.add("s")
    (Path(os.fsdecode(os.fsencode(served.directory) + b"/b\xffd"))).touch()
    entries = (await served.client.get("/v1/fs/entries", params={"sessionId": "s"})).json()
    assert entries[0]["name"] == "b\\xffd"


async def test_the_session_id_must_be_given_and_known(served: Served) -> None:
    response = await served.client.get("/v1/fs/entries")
    assert (response.status_code, response.json()["field"]) == (400, "sessionId")
    assert (await served.client.get("/v1/fs/entries?sessionId=nobody")).status_code == 404


def tar(*members: tuple[str, bytes | None, str], gz: bool = False) -> bytes:
    """Members are (name, content, link target); a directory has neither content nor target."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz" if gz else "w") as packed:
        for name, content, target in members:
            member = tarfile.TarInfo(name)
            if content is not None:
                member.size = len(content)
                packed.addfile(member, io.BytesIO(content))
                continue
            member.type = tarfile.DIRTYPE
            if target:
                hard = target.startswith("hard:")
                member.type, member.linkname = (
                    tarfile.LNKTYPE if hard else tarfile.SYMTYPE,
                    target.removeprefix("hard:"),
                )
            packed.addfile(member)
    return buffer.getvalue()


async def upload(served: Served, content: bytes, media: str = "application/x-tar", path: str = ".") -> tuple[int, str]:
    response = await served.client.post(
        "/v1/fs/upload-batch",
        params={"sessionId": "s", "path": path},
        content=content,
        headers={"content-type": media},
    )
    return response.status_code, response.text


@pytest.mark.parametrize(
    ("gz", "media"), [(False, "application/x-tar"), (True, "application/gzip"), (True, "application/x-tar")]
)
async def test_an_archive_is_unpacked(served: Served, gz: bool, media: str) -> None:
    served.sessions.add("s")
    packed = tar(
        ("d", None, ""), ("d/a", b"aa", ""), ("b", b"bb", ""), ("d/link", None, "../b"), ("h", None, "hard:b"), gz=gz
    )
    status, text = await upload(served, packed, media, "into/here")
    assert status == 200, text
    under = served.directory / "into" / "here"
    assert (under / "d" / "a").read_bytes() == b"aa"
    assert (under / "d" / "link").read_bytes() == b"bb"
    assert (under / "h").read_bytes() == b"bb"
    assert str(under / "d" / "a") in text


@pytest.mark.parametrize(
    "members",
    [
        [("../x", b"x", "")],
        [("a/../../x", b"x", "")],
        [("l", None, "/etc")],
        [("l", None, "../beside")],
        [("d/l", None, "../../beside")],
        [("l", None, "hard:../beside/secret")],
        [("l", None, "hard:/etc/passwd")],
        [("a", None, "."), ("a/b", None, ".."), ("a/b/c", None, "../..")],
        [("l", None, "missing"), ("l/x", b"x", "")],
        [("abs/x", b"x", "")],
        [("rel/x", b"x", "")],
        [("up/beside/x", b"x", "")],
        [("dangling", b"x", "")],
        [("n\0ul/../../x", b"x", "")],
    ],
)
async def test_an_archive_cannot_leave_the_directory(
    served: Served, outside: Path, members: list[tuple[str, bytes | None, str]]
) -> None:
    parent = sorted(served.directory.parent.iterdir())
    await upload(served, tar(*members))
    assert sorted(outside.iterdir()) == [outside / "secret"]
    assert (outside / "secret").read_text() == SECRET
    assert sorted(served.directory.parent.iterdir()) == parent


async def test_an_absolute_name_in_an_archive_is_taken_as_relative(served: Served) -> None:
    served.sessions.add("s")
    assert (await upload(served, tar(("/abs/olute", b"x", ""))))[0] == 200
    assert (served.directory / "abs" / "olute").read_bytes() == b"x"


async def test_an_invalid_archive_or_a_decompression_bomb_is_refused(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.sessions.add("s")
    assert (await upload(served, b"not a tar at all" * 100))[0] == 400
    assert (await upload(served, b"\x1f\x8bnot gzip"))[0] == 400
    assert (await upload(served, tar(("a", b"x" * 1000, ""), gz=True)[:60], "application/gzip"))[0] == 400
    assert (await upload(served, tar(("a", b"x", "")), "application/zip"))[0] == 415
    bomb = tar(*((f"zeros{n}", b"\0" * 200_000, "") for n in range(5)), gz=True)
    assert len(bomb) < 10_000
    assert (await upload(served, bomb, "application/gzip"))[0] == 413
    assert (await upload(served, b"x" * 300 * 1024))[0] == 413
    monkeypatch.setattr(tar_upload, "MAX_MEMBERS", 3)
    assert (await upload(served, tar(*((f"f{n}", b"", "") for n in range(4)))))[0] == 413


def test_errors_of_the_operating_system_become_api_errors() -> None:
    for number, error in [(errno.ENOSPC, StorageFull), (errno.EEXIST, Conflict), (errno.EIO, EveryagentError)]:
        with pytest.raises(error), os_errors_explained("x"):
            raise OSError(number, os.strerror(number))


def test_a_directory_replaced_by_a_link_during_a_walk_does_not_lead_outside(tmp_path: Path) -> None:
    root, beside = tmp_path / "root", tmp_path / "beside"
    (root / "d").mkdir(parents=True)
    beside.mkdir()
    with ConfinedDirectory(root).place("d/new") as place:
        (root / "d").rename(root / "moved")
        (root / "d").symlink_to(beside)
        os.close(os.open(place.name, os.O_CREAT | os.O_WRONLY, dir_fd=place.parent))
    assert (root / "moved" / "new").exists()
    assert list(beside.iterdir()) == []
