"""Uploads to a disk that is really full: 507 with a clear text on both APIs, and nothing half-written stays."""

import base64
import io
import os
import subprocess
import tarfile
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import httpx2
import pytest

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.waiting import LIMIT_SECONDS, wait_until

SKILL = b"---\nname: counting\ndescription: Counts things.\n---\n" + b"Count them. " * 30_000
BODY = os.urandom(400_000)


@contextmanager
def small_disk(place: Path, size: str) -> Generator[Path]:
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size},mode=700", "tmpfs", place], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("mounting a small disk needs root")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


@contextmanager
def filled(disk: Path) -> Generator[None]:
    """A disk without a free byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 4096, 1):
            with suppress(OSError):
                while file.write(bytes(size)):
                    pass
    assert os.statvfs(disk).f_bavail == 0
    try:
        yield
    finally:
        filler.unlink()


def tree(folder: Path) -> dict[str, int]:
    """All files and folders, with the sizes of the files."""
    return {str(path.relative_to(folder)): path.stat().st_size if path.is_file() else -1 for path in folder.rglob("*")}


def archive(**files: bytes) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, content in files.items():
            member = tarfile.TarInfo(f"new/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return packed.getvalue()


class Client:
    def __init__(self, daemon: DaemonProcess) -> None:
        self.http = httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS)

    def put(self, path: str, content: bytes) -> httpx2.Response:
        return self.http.put("/v1/fs/file", params={"sessionId": "s", "path": path}, content=content)

    def unpack(self, packed: bytes) -> httpx2.Response:
        headers = {"content-type": "application/x-tar"}
        return self.http.post("/v1/fs/upload-batch", params={"sessionId": "s"}, content=packed, headers=headers)

    def file(self) -> httpx2.Response:
        return self.http.post("/anthropic/v1/files", files={"file": ("a.bin", BODY)})

    def skill(self) -> httpx2.Response:
        return self.http.post("/anthropic/v1/skills", files={"files[]": ("counting/SKILL.md", SKILL)})

    def memory(self) -> httpx2.Response:
        return self.http.post("/anthropic/v1/memory_stores", json={"name": "m", "description": "x" * 1000})

    def attach(self, **attached: str) -> httpx2.Response:
        attached = attached or {"data": base64.b64encode(BODY).decode(), "filename": "a.bin"}
        return self.http.post("/v1/sessions/s/messages", json={"message": "look", "attachments": [attached]})


@pytest.fixture
def disks(tmp_path: Path) -> Generator[tuple[Path, Path]]:
    """The disk of the data folder and of temporary files, and the disk of a session's directory."""
    with small_disk(tmp_path / "own", "16m") as own, small_disk(tmp_path / "project", "2m") as project:
        yield own, project


@pytest.fixture
def client(disks: tuple[Path, Path]) -> Generator[Client]:
    own, project = disks
    (own / "tmp").mkdir()
    daemon = DaemonProcess(own / "data", "--isolation", "none", environment={"TMPDIR": str(own / "tmp")})
    daemon._printed = own.with_name("daemon.out")  # the daemon's own output must not meet the full disk
    daemon.start()
    made = Client(daemon)
    try:
        with made.http:
            created = made.http.post("/v1/sessions/s", json={"agent": "mock", "directory": str(project)})
            assert created.status_code == 200, created.text
            yield made
    finally:
        assert daemon.stop() == 0


def assert_full(answer: httpx2.Response) -> None:
    told = answer.json()
    assert answer.status_code == 507, answer.text
    detail = told["detail"] if "detail" in told else told["error"]["message"]
    assert "disk is full" in detail.lower()
    assert told.get("code") == "storage_full" or told["error"]["details"]["error_code"] == "storage_full"


def is_taken(upload: Callable[[], httpx2.Response]) -> bool:
    return upload().is_success


def test_a_full_disk_of_a_session_keeps_nothing_of_an_upload(client: Client, disks: tuple[Path, Path]) -> None:
    project = disks[1]
    assert client.put("old.txt", b"as it was").status_code == 200
    with filled(project):
        before = tree(project)
        assert_full(client.put("old.txt", BODY))
        assert_full(client.put("deep/er/new.bin", BODY))
        assert_full(client.unpack(archive(one=b"", two=b"", big=BODY)))
        assert tree(project) == before
        assert (project / "old.txt").read_bytes() == b"as it was"
    assert client.put("deep/er/new.bin", BODY).status_code == 200
    assert client.unpack(archive(big=BODY)).status_code == 200


def test_a_full_data_folder_keeps_nothing_of_an_upload(client: Client, disks: tuple[Path, Path]) -> None:
    own = disks[0]
    earlier = client.file().json()["id"]
    uploads = (client.file, client.skill, client.memory, client.attach, partial(client.attach, fileId=earlier))
    with filled(own):
        before = tree(own)
        for upload in uploads:
            assert_full(upload())
        assert_full(client.unpack(archive(big=BODY)))
        assert tree(own).keys() - before.keys() <= {"data/attachments"}  # the folder of all copies, which is empty
    for upload in uploads:
        wait_until(partial(is_taken, upload))
    assert client.unpack(archive(big=BODY)).status_code == 200
