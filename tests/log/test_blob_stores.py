"""Rules of every `BlobStore`, on a folder and a real S3 server; the PostgreSQL log with its blobs in each of them."""

import asyncio
import hashlib
import io
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from tests.log.test_postgres_conformance import PostgresStore
from tests.postgres.server import PostgresServer
from tests.s3.server import S3Server
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.clock import SystemClock
from everyagent.errors import BlobsUnavailable, Unavailable
from everyagent.log.blob_stores.folder import FolderStore
from everyagent.log.blob_stores.s3 import S3Blobs
from everyagent.log.blob_stores.store import PIECE_BYTES, BlobStore, checked
from everyagent.log.log import Append, EventQuery, Log
from everyagent.log.postgres import PostgresLog, blob_mover
from everyagent.log.records import Delete, Insert
from everyagent.testing.log_rules.recording import RecordingRules
from everyagent.testing.log_rules.samples import START, LogStore, event, new_session

BIG = bytes(range(256)) * 2000


def digest_of(body: bytes) -> bytes:
    return hashlib.sha256(body).digest()


@pytest.fixture(params=["folder", "s3"])
def place(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The setting `blobs`."""
    if request.param == "folder":
        (tmp_path / "blobs").mkdir()
        return str(tmp_path / "blobs")
    server: S3Server = request.getfixturevalue("s3")
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    return server.new_url()


@pytest.fixture
def outside(place: str) -> BlobStore:
    return S3Blobs(place) if place.startswith("s3:") else FolderStore(Path(place))


def whole(store: BlobStore, digest: bytes) -> bytes:
    return b"".join(checked(store.pieces(digest), digest, store.name))


@pytest.mark.parametrize("size", [0, 1, PIECE_BYTES, 2 * PIECE_BYTES + 1])
def test_contents_are_read_as_they_were_stored_and_gone_when_removed(outside: BlobStore, size: int):
    body = (BIG * (size // len(BIG) + 1))[:size]
    digest = digest_of(body)
    for _ in range(2):
        outside.put(io.BytesIO(body), digest)
    assert whole(outside, digest) == body
    for _ in range(2):
        outside.remove(digest)
    with pytest.raises(FileNotFoundError):
        whole(outside, digest)


def test_damaged_contents_are_found_when_they_are_read(outside: BlobStore):
    outside.put(io.BytesIO(b"other bytes"), digest_of(b"these bytes"))
    with pytest.raises(Unavailable, match="is damaged"):
        whole(outside, digest_of(b"these bytes"))


MEASURED = """
import resource, sys
from pathlib import Path
from everyagent.log.blob_stores.folder import FolderStore
from everyagent.log.blob_stores.s3 import S3Blobs

place, path, digest = sys.argv[1:]
store = S3Blobs(place) if place.startswith("s3:") else FolderStore(Path(place))
store.marker()
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with open(path, "rb") as file:
    store.put(file, bytes.fromhex(digest))
print(sum(len(piece) for piece in store.pieces(bytes.fromhex(digest))))
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_large_file_takes_a_bounded_amount_of_memory(place: str, tmp_path: Path):
    path, size = tmp_path / "large", 16 * PIECE_BYTES
    with path.open("wb") as file:
        file.truncate(size)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    words = [sys.executable, "-c", MEASURED, place, str(path), digest]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_SECONDS)
    assert done.returncode == 0, done.stderr
    read, kilobytes = map(int, done.stdout.split())
    assert (read, kilobytes < size // 2 >> 10) == (size, True), kilobytes


def test_the_mark_of_a_log_is_kept(outside: BlobStore):
    assert outside.marker() is None
    outside.mark("one")
    assert outside.marker() == "one"


class Stage:
    """A log whose blobs are outside, on a database that tests look into."""

    def __init__(self, server: PostgresServer, url: str, log: PostgresLog, outside: BlobStore) -> None:
        self.server, self.url, self.log, self.outside = server, url, log, outside

    def execute(self, statement: str) -> list[tuple[object, ...]]:
        return self.server.execute(statement, self.url)

    def count(self, table: str) -> int:
        ((found,),) = self.execute(f"SELECT count(*) FROM {table}")
        assert isinstance(found, int)
        return found

    def is_outside(self, digest: bytes) -> bool:
        try:
            return digest_of(whole(self.outside, digest)) == digest
        except FileNotFoundError:
            return False


@pytest.fixture
async def stage(
    postgres: PostgresServer, outside: BlobStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncGenerator[Stage]:
    monkeypatch.setattr(blob_mover, "MOVE_SECONDS", 0.05)
    monkeypatch.setattr(blob_mover, "_SWEEP_ROUNDS", 1)
    url = postgres.new_schema()
    log = await PostgresLog.open(url, tmp_path / "uploads", SystemClock(), outside=outside)
    yield Stage(postgres, url, log, outside)
    await log.close()


async def upload(log: PostgresLog, body: bytes, id: str = "f") -> bytes:
    async def pieces():
        yield body

    async with log.records.upload(pieces()) as made:
        await log.records.write(Insert(kind="file", id=id, body=b"{}", uploads=[made]))
    return made.digest


async def until(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(wait_until, condition)


async def test_bodies_move_outside_and_are_read_from_there(stage: Stage):
    session = await new_session(stage.log)
    big = event(2, size=600_000)
    await stage.log.append(Append(session=session.number, epoch=0, expected=1, at=START, events=[big]))
    await until(lambda: stage.count("blob_pieces") == 0 and stage.count("blob_contents WHERE outside") == 1)
    assert stage.is_outside(digest_of(big.body))
    page = await stage.log.events(EventQuery(session=session.number))
    assert page.events[-1].body == big.body
    digest = await upload(stage.log, big.body)  # the same bytes: stored once
    with await stage.log.records.blob(digest) as file:
        assert file.read() == big.body
    assert stage.count("blob_contents") == 1


async def test_uploads_go_outside_at_once_and_unused_ones_are_removed(stage: Stage):
    digest = await upload(stage.log, BIG)
    assert stage.count("blob_pieces") == 0
    assert stage.is_outside(digest)
    await stage.log.records.write(Delete(kind="file", id="f"))
    assert stage.is_outside(digest)
    stage.execute("UPDATE blob_contents SET at = at - interval '3 hours'")
    await until(lambda: stage.count("blob_contents") == 0)
    assert not stage.is_outside(digest)
    assert await upload(stage.log, BIG) == digest
    assert stage.is_outside(digest)


async def test_contents_that_a_sweep_began_to_remove_can_be_stored_again(stage: Stage):
    """A crash between the two steps of a sweep leaves a row that promises nothing."""
    digest = await upload(stage.log, BIG)
    stage.execute("UPDATE blob_contents SET outside = false")
    stage.outside.remove(digest)
    assert await upload(stage.log, BIG, "g") == digest
    with await stage.log.records.blob(digest) as file:
        assert file.read() == BIG


async def test_a_log_is_opened_only_with_its_own_blobs(stage: Stage, tmp_path: Path):
    await stage.log.close()
    (tmp_path / "empty").mkdir()
    (tmp_path / "other").mkdir()
    FolderStore(tmp_path / "other").mark("another log")
    wrong: list[tuple[BlobStore | None, str]] = [
        (None, f"are in {stage.outside.name}"),
        (FolderStore(tmp_path / "empty"), "has no blobs of"),
        (FolderStore(tmp_path / "other"), "of another log"),
        (FolderStore(tmp_path / "missing"), "does not exist"),
    ]
    for store, said in wrong:
        with pytest.raises(BlobsUnavailable, match=said):
            await PostgresLog.open(stage.url, tmp_path / "uploads", SystemClock(), outside=store)


class TestRecordsWithBlobsOutside(RecordingRules):
    @pytest.fixture
    def store(self, tmp_path: Path, postgres_url: str, outside: BlobStore) -> LogStore:
        return PostgresStore(postgres_url, tmp_path / "uploads", outside)

    @pytest.fixture
    async def log(self, store: LogStore) -> AsyncGenerator[Log]:
        log = await store.open()
        yield log
        await log.close()
