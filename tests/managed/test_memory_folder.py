"""The folder of a memory store: nothing outside it is read or written."""

import hashlib
import os
from pathlib import Path

import pytest

from everyagent.managed.memory import folder as folders
from everyagent.managed.memory.folder import Folder, Seen

PARTS = ["mnt", "memory", "notes"]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    """The folder as the agent sees it."""
    path = tmp_path.joinpath(*PARTS)
    path.mkdir(parents=True)
    return path


def folder(root: Path, *, read_only: bool = False) -> Folder:
    return Folder(root, PARTS, read_only=read_only)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def test_an_invalid_file_is_refused_with_a_reason(tmp_path: Path, notes: Path) -> None:
    outside = tmp_path / "secret"
    outside.mkdir()
    (outside / "key").write_text("hush")
    (notes / "good.md").write_text("good")
    (notes / "link").symlink_to(outside / "key")
    (notes / "folder").symlink_to(outside)
    (notes / "binary").write_bytes(b"\xff\xfe\x00")
    (notes / "big").write_bytes(b"x" * 102_401)
    os.mkfifo(notes / "pipe")
    (notes / "two\nlines").write_text("x")
    (notes / "e\u0301").write_text("x")
    Path(os.fsdecode(os.fsencode(notes) + b"/\xff")).write_text("x")
    deep = notes.joinpath(*["d"] * 20)
    deep.mkdir(parents=True)
    (deep / "far").write_text("x")
    scan = folder(tmp_path).scan({})
    assert list(scan.files) == ["/good.md"]
    assert scan.refused == {
        "/link": "it is no plain file",
        "/folder": "it is no plain file",
        "/pipe": "it is no plain file",
        "/binary": "it is not text in UTF-8",
        "/big": "it has more than 102400 bytes",
        "/two\nlines": "it has a control or format character in it",
        "/e\u0301": "it is not in Unicode's normalization form C",
        "/\udcff": "it has a control or format character in it",
        "/d" * 20: "what is in it lies too deep",
    }


def test_too_many_files_are_reported_and_not_read(tmp_path: Path, notes: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "MAX_ENTRIES", 10)
    for n in range(12):
        (notes / str(n)).write_text("x")
    scan = folder(tmp_path).scan({})
    assert scan.over
    assert len(scan.files) <= 10


@pytest.mark.parametrize("part", range(3))
def test_a_folder_that_became_a_link_is_refused(tmp_path: Path, part: int) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.joinpath(*PARTS[part + 1 :]).mkdir(parents=True)
    root = tmp_path / "root"
    root.joinpath(*PARTS[:part]).mkdir(parents=True)
    root.joinpath(*PARTS[: part + 1]).symlink_to(elsewhere)
    with pytest.raises(OSError, match="irectory"):
        folder(root).scan({})
    with pytest.raises(OSError, match="irectory"):
        folder(root).write("/x.md", b"x", None)
    assert not list(elsewhere.rglob("x.md"))


def test_nothing_is_written_through_a_link(tmp_path: Path, notes: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_text("mine")
    (notes / "folder").symlink_to(outside)
    (notes / "file").symlink_to(outside / "file")
    with pytest.raises(OSError, match="irectory"):
        folder(tmp_path).write("/folder/new", b"x", None)
    with pytest.raises(OSError, match="symbolic"):
        folder(tmp_path).write("/file", b"x", sha("mine"))
    assert [path.name for path in outside.iterdir()] == ["file"]
    assert (outside / "file").read_text() == "mine"


def test_a_concurrent_write_of_the_agent_stays(tmp_path: Path, notes: Path) -> None:
    (notes / "a.md").write_text("newer")
    assert folder(tmp_path).write("/a.md", b"the store's", sha("older")) is None
    assert folder(tmp_path).write("/a.md", b"the store's", None) is None
    assert not folder(tmp_path).remove("/a.md", sha("older"))
    assert (notes / "a.md").read_text() == "newer"
    assert folder(tmp_path).write("/a.md", b"the store's", sha("newer")) == Seen(sha("the store's"), 11)
    assert [path.name for path in notes.iterdir()] == ["a.md"], "no draft is left"


def test_a_removed_file_takes_empty_folders_along(tmp_path: Path, notes: Path) -> None:
    folder(tmp_path).write("/a/b/c.md", b"x", None)
    folder(tmp_path).write("/a/d.md", b"x", None)
    assert folder(tmp_path).remove("/a/b/c.md", sha("x"))
    assert [path.name for path in (notes / "a").iterdir()] == ["d.md"]
    assert folder(tmp_path).remove("/a/d.md", sha("x"))
    assert notes.is_dir()
    assert not list(notes.iterdir())


def test_a_read_only_folder_is_open_only_while_it_is_written_to(tmp_path: Path, notes: Path) -> None:
    shut = folder(tmp_path, read_only=True)
    with shut.open():
        shut.write("/a/b.md", b"x", None)
    modes = {path.name: path.stat().st_mode & 0o777 for path in (notes, notes / "a", notes / "a" / "b.md")}
    assert modes == {"notes": 0o555, "a": 0o555, "b.md": 0o444}
    with shut.open():
        assert shut.remove("/a/b.md", sha("x"))
    assert not list(notes.iterdir())


def test_a_file_is_read_again_only_when_it_changed(tmp_path: Path, notes: Path) -> None:
    """A very recent file is read again, because its timestamp may not show a change."""
    path = notes / "a.md"
    path.write_text("one")
    first = folder(tmp_path).scan({}).files
    assert first["/a.md"].modified_ns == 0
    os.utime(path, ns=(1, 1_000_000_000))
    known = folder(tmp_path).scan({}).files
    assert known["/a.md"].modified_ns == 1_000_000_000
    pretended = {"/a.md": Seen("pretended", 3, 1_000_000_000)}
    assert folder(tmp_path).scan(pretended).files == pretended
    path.write_text("two")
    assert folder(tmp_path).scan(pretended).files["/a.md"].sha256 == sha("two")
