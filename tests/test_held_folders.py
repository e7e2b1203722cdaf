"""Removal of folders that an agent may change meanwhile."""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from everyagent.held_folders import held, remove


def removed(path: Path) -> None:
    with held(path.parent, ()) as folder:
        remove(folder, path.name)


def refused_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Root may remove everything, so the first attempt fails for it as it does for others."""
    rmtree, calls = shutil.rmtree, list[str]()

    def refused(path: str, *, dir_fd: int, onerror: Callable[..., object]) -> None:
        calls.append(path)
        if len(calls) == 1:
            onerror(os.unlink, path, (PermissionError, PermissionError(path), None))
        else:
            rmtree(path, dir_fd=dir_fd, onerror=onerror)

    monkeypatch.setattr(shutil, "rmtree", refused)


def test_folders_that_their_owner_may_not_write_are_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    refused_once(monkeypatch)
    locked = tmp_path / "cache" / "locked" / "deeper"
    locked.mkdir(parents=True)
    (locked / "file").write_text("x")
    (tmp_path / "cache" / "link").symlink_to(tmp_path)
    for folder in (locked, locked.parent, tmp_path / "cache"):
        folder.chmod(0o500)
    removed(tmp_path / "cache")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_becomes_a_link_leads_nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the mode nor the files of the folder that it leads to change."""
    refused_once(monkeypatch)
    outside, locked = tmp_path / "outside", tmp_path / "work" / "locked"
    for folder in (outside, locked):
        folder.mkdir(parents=True)
        (folder / "file").write_text("x")
        folder.chmod(0o500)
    fwalk = os.fwalk

    def replaced(name: str, *, dir_fd: int) -> Iterator[Any]:
        for step in fwalk(name, dir_fd=dir_fd):
            if not locked.is_symlink():
                locked.rename(tmp_path / "moved")
                locked.symlink_to(outside)
            yield step

    monkeypatch.setattr(os, "fwalk", replaced)
    removed(tmp_path / "work")
    assert not (tmp_path / "work").exists()
    assert outside.stat().st_mode & 0o777 == 0o500
    assert (outside / "file").exists()


def test_the_rest_is_removed_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    for number in range(5):
        (work / f"{number}").write_text("x")
    unlink = os.unlink

    def busy(path: str, *, dir_fd: int) -> None:
        if path == "2":
            raise OSError(errno.EBUSY, "busy in this test")
        unlink(path, dir_fd=dir_fd)

    monkeypatch.setattr(os, "unlink", busy)
    with pytest.raises(OSError, match="busy in this test"):
        removed(work)
    assert [path.name for path in work.iterdir()] == ["2"]


def test_a_folder_is_not_opened_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with pytest.raises(OSError, match="link"), held(tmp_path, ["link"]):
        pass
