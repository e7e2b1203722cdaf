"""`everyagent log copy` between SQLite and PostgreSQL: everything arrives, also after kills and beside a daemon."""

import asyncio
import hashlib
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path

import apsw
import httpx2
import pytest
from tests.managed.raw import TOOLSET, Raw
from tests.postgres.server import PostgresServer
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.client import Client
from everyagent.clock import SystemClock
from everyagent.log.copy import ends
from everyagent.log.copy.copying import copy_log
from everyagent.log.copy.postgres_ends import PostgresSource, PostgresTarget
from everyagent.log.copy.sqlite_ends import SqliteSource, SqliteTarget
from everyagent.log.copy.tables import ALL
from everyagent.log.sqlite.log import SqliteLog
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from everyagent.testing.log_rules.samples import grow, new_session, queued, receipt

SESSIONS = 40
EVENTS = 300


# `everyagent log copy` whose process dies before it marks a session as copied, with that session's rows written.
DYING_COPY = """
import os, signal, sys
from everyagent.cli.main import main
from everyagent.log.copy.ends import Target

left = int(sys.argv.pop(1))
mark = Target.mark

def mark_or_die(self, number, digest):
    global left
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    left -= 1
    mark(self, number, digest)

Target.mark = mark_or_die
main()
"""


def copy(source: str, target: str, *program: str, blobs: Path | None = None) -> "subprocess.CompletedProcess[str]":
    words = [sys.executable, *(program or ("-m", "everyagent")), "log", "copy", "--from", source, "--to", target]
    words += [] if blobs is None else ["--blobs", str(blobs)]
    return subprocess.run(
        words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=LIMIT_SECONDS, check=False
    )


def copied(source: str, target: str, *, blobs: Path | None = None) -> tuple[int, str]:
    done = copy(source, target, blobs=blobs)
    assert "Traceback" not in done.stdout, done.stdout
    return done.returncode, done.stdout


def sqlite(folder: Path) -> str:
    return f"sqlite:{folder}"


@contextmanager
def daemon(folder: Path, *flags: str) -> Generator[DaemonProcess]:
    """Stopped at the end, so that all its sessions rest."""
    running = DaemonProcess(folder, "--default-agent", "mock", "--isolation", "none", *flags)
    running.start()
    try:
        yield running
        assert running.stop() == 0
    finally:
        if running.alive:
            running.kill()


def filled(running: DaemonProcess, folder: Path) -> tuple[str, str]:
    """Makes something of every kind. Returns the ids of a managed session and of a file."""
    with Client(running.url, TOKEN) as client:
        for name in ("plain", "large", "asking", "deleted"):
            client.create(name, agent="mock", directory=str(folder), env={"SECRET": "a secret value"})
        client.run_turn("plain", "[text words=50] tangerines")
        client.run_turn("large", "\0" + "x" * 300_000)
        client.run_turn("deleted", "[text words=5]")
        client.send("asking", "[ask]")
        wait_until(lambda: client.asks("asking"))
        client.create_key(name="reader", scopes=["read"])
    raw = Raw(running)
    managed = raw.create(TOOLSET)
    raw.say("hello")
    wait_until(lambda: raw.events()[-1]["type"] == "session.status_idle")
    file = raw.upload("a.txt", b"content" * 100_000)
    raw.close()
    return managed, file


def state(running: DaemonProcess, managed: str, file: str) -> dict[str, bytes]:
    """Everything that the API shows of a log."""
    with httpx2.Client(base_url=running.url, headers=running.headers, verify=NO_TLS, timeout=LIMIT_SECONDS) as client:
        sessions = [f"/v1/sessions/{name}" for name in ("plain", "large", "asking", managed)]
        paths = [f"{path}{part}" for path in sessions for part in ("", "/events?limit=5000", "/frames", "/asks")]
        paths += ["/v1/sessions", "/v1/search?q=tangerines", "/v1/keys", "/v1/audit?limit=1000", "/v1/audit/verify"]
        paths += [f"/anthropic/v1{path}" for path in ("/agents", "/environments", "/files")]
        paths += [f"/anthropic/v1/sessions/{managed}/events?limit=1000", f"/anthropic/v1/files/{file}"]
        found: dict[str, bytes] = {}
        for path in paths:
            answer = client.get(path)
            assert answer.status_code == 200, f"{path}: {answer.text}"
            found[path] = answer.content
        gone = client.get("/v1/sessions/deleted")
        assert gone.status_code == 404
        return found


def test_a_log_moves_to_postgresql_and_back_with_everything_in_it(postgres: PostgresServer, tmp_path: Path):
    store, first, second, back = postgres.new_schema(), tmp_path / "first", tmp_path / "second", tmp_path / "back"
    with daemon(first) as running:
        managed, file = filled(running, tmp_path)
        code, said = copied(sqlite(first), store)
        assert (code, "Stop the daemon" in said) == (1, True), said
        refused = subprocess.run(
            [sys.executable, "-m", "everyagent", "serve", "--port", "0", "--data-dir", second, "--store", store],
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
        )
        assert (refused.returncode, "not finished" in refused.stderr) == (2, True), refused.stderr
        with Client(running.url, TOKEN) as client:
            client.run_turn("plain", "[text words=20]")
            client.delete("deleted")
    code, said = copied(sqlite(first), store)
    assert (code, "4 sessions" in said) == (0, True), said
    code, said = copied(store, sqlite(back))
    assert code == 0, said
    for folder in (second, back):
        folder.mkdir(mode=0o700, exist_ok=True)
        shutil.copy(first / "vault.key", folder)
    with daemon(first) as running:
        expected = state(running, managed, file)
    for folder, flags in ((second, ("--store", store)), (back, ())):
        with daemon(folder, *flags) as running:
            assert state(running, managed, file) == expected
            with Client(running.url, TOKEN) as client:
                client.run_turn("plain", "[text words=3]")
                created = client.create("new", agent="mock", directory=str(tmp_path))
                assert created.session_id == "new"
        words = ["--data-dir", str(folder), *flags]
        checked = subprocess.run([sys.executable, "-m", "everyagent", "log", "verify", *words], timeout=LIMIT_SECONDS)
        assert checked.returncode == 0


def test_blobs_outside_of_the_database_arrive(postgres: PostgresServer, tmp_path: Path):
    store, first, back, blobs = postgres.new_schema(), tmp_path / "first", tmp_path / "back", tmp_path / "blobs"
    blobs.mkdir()
    flags = ("--store", store, "--blobs", str(blobs))
    with daemon(first, *flags) as running:
        managed, file = filled(running, tmp_path)
        with Client(running.url, TOKEN) as client:
            client.delete("deleted")
        wait_until(lambda: postgres.execute("SELECT count(*) FROM blob_pieces", store) == [(0,)])
    code, said = copied(store, sqlite(tmp_path / "without"))
    assert (code, "could not be copied" in said) == (1, True), said
    code, said = copied(store, sqlite(back), blobs=blobs)
    assert code == 0, said
    shutil.copy(first / "vault.key", back)
    with daemon(first, *flags) as running:
        expected = state(running, managed, file)
        content = read(running, file)
    with daemon(back) as running:
        assert state(running, managed, file) == expected
        assert read(running, file) == content


def read(running: DaemonProcess, file: str) -> bytes:
    answer = httpx2.get(
        f"{running.url}/anthropic/v1/files/{file}/content",
        headers=running.headers,
        verify=NO_TLS,
        timeout=LIMIT_SECONDS,
    )
    assert answer.status_code == 200, answer.text
    return answer.content


#: What is a database's own, and not copied.
OWN_TABLES = {
    "sqlite": {"debris", "room", "sqlite_sequence", "sqlite_stat1", "search_config", "search_content", "search_data"}
    | {"search_docsize", "search_idx"},
    "postgresql": {"debris", "feed", "writers", "nodes", "cluster", "blob_store", "blob_contents", "blob_pieces"}
    | {"everyagent_schema"},
}
OWN_COLUMNS = {"sessions.owner", "search.words"}
#: But for columns that the database computes from others.
POSTGRES_COLUMNS = (
    "SELECT relname, attname FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid "
    "WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition "
    "AND attnum > 0 AND NOT attisdropped AND attgenerated = ''"
)
SQLITE_COLUMNS = "SELECT m.name, c.name FROM sqlite_schema AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'"


def test_every_table_and_column_is_copied(postgres: PostgresServer, tmp_path: Path) -> None:
    store = postgres.new_schema()
    PostgresTarget(store).close()
    SqliteTarget(tmp_path / "sqlite").close()
    expected = {table.name: set(table.columns) for table in ALL}
    assert columns_of("postgresql", postgres.execute(POSTGRES_COLUMNS, store)) == expected
    connection = apsw.Connection(str(tmp_path / "sqlite" / "everyagent.db.part"), apsw.SQLITE_OPEN_READONLY)
    found = list(connection.execute(SQLITE_COLUMNS))
    connection.close()
    assert columns_of("sqlite", [*found, ("search", "key")]) == expected, "the key of search texts is the rowid"


def columns_of(database: str, rows: Iterable[tuple[object, ...]]) -> dict[str, set[str]]:
    """Of each table, but for what is the database's own."""
    found: dict[str, set[str]] = {}
    for table, column in rows:
        if table not in OWN_TABLES[database] and f"{table}.{column}" not in OWN_COLUMNS:
            found.setdefault(str(table), set()).add(str(column))
    return found


@pytest.fixture
def large_log(tmp_path: Path) -> Path:
    """A SQLite log that takes some time to copy."""
    folder = tmp_path / "large"

    async def fill() -> None:
        log = await SqliteLog.open(folder, SystemClock())
        for number in range(SESSIONS):
            session = await new_session(log, f"session-{number}")
            head = await grow(log, session, 1, EVENTS - 1)
            await log.append(queued(session, "itm_1", head=head, receipt=receipt(f"key-{number}")))
        await log.delete("session-0")
        await log.close()

    asyncio.run(fill())
    return folder


def rows_of(folder: Path) -> list[tuple[object, ...]]:
    connection = apsw.Connection(str(folder / "everyagent.db"), apsw.SQLITE_OPEN_READONLY)
    found = [
        row
        for table in ("sessions", "inputs", "receipts", "sqlite_sequence")
        for row in connection.execute(f"SELECT '{table}', * FROM {table} ORDER BY 2")
    ]
    found += [
        row
        for table, session in (("events", "key >> 32"), ("commits", "session"))
        for row in connection.execute(f"SELECT * FROM {table} WHERE {session} IN (SELECT number FROM sessions)")
    ]
    connection.close()
    return found


def test_a_copy_that_is_killed_goes_on_where_it_was(postgres: PostgresServer, tmp_path: Path, large_log: Path):
    store, back = postgres.new_schema(), tmp_path / "back"
    for source, target in ((sqlite(large_log), store), (store, sqlite(back))):
        for _ in range(2):
            killed = copy(source, target, "-c", DYING_COPY, str(SESSIONS // 3))
            assert killed.returncode == -signal.SIGKILL, killed.stdout
        code, said = copied(source, target)
        left = SESSIONS - 1
        assert (code, f"{left} sessions, {left * EVENTS} events" in said) == (0, True), said
    assert rows_of(back) == rows_of(large_log)


def test_tables_without_numbers_are_copied_in_pages(
    postgres: PostgresServer, tmp_path: Path, large_log: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(ends, "PAGE_ROWS", 3)
    store, back = postgres.new_schema(), tmp_path / "back"
    connection = apsw.Connection(str(large_log / "everyagent.db"))
    for number in range(10):
        texts, counts = (f"model-{number}", "", "mock", "default"), (number,) * 8
        connection.execute(f"INSERT INTO usage VALUES ({', '.join('?' * 14)})", (1, number // 4, *texts, *counts))
        body = str(number // 2).encode()
        digest = hashlib.sha256(body).digest()
        (large_log / "blobs" / digest.hex()).write_bytes(body)
        connection.execute("INSERT INTO blobs VALUES (?, ?)", (number // 2, digest) if number % 2 else (100, digest))
    expected = unnumbered(connection)
    connection.close()
    for source, target in (
        (SqliteSource(large_log), PostgresTarget(store)),
        (PostgresSource(store, None), SqliteTarget(back)),
    ):
        result = copy_log(source, target, lambda part, done, total: None)
        assert (result.finished, result.blobs) == (True, 5)
        source.close()
        target.close()
    connection = apsw.Connection(str(back / "everyagent.db"), apsw.SQLITE_OPEN_READONLY)
    assert unnumbered(connection) == expected
    connection.close()


def unnumbered(connection: apsw.Connection) -> list[list[tuple[object, ...]]]:
    tables = ("receipts", "usage", "blobs")
    return [sorted(connection.execute(f"SELECT * FROM {table}")) for table in tables]


def test_what_cannot_be_copied_is_refused_with_the_reason(postgres: PostgresServer, tmp_path: Path, large_log: Path):
    store, empty = postgres.new_schema(), tmp_path / "empty"
    other = tmp_path / "other"
    shutil.copytree(large_log, other)
    postgres.execute("CREATE TABLE everyagent_schema (version bigint NOT NULL)", store)
    postgres.execute("INSERT INTO everyagent_schema VALUES (999)", store)
    unreachable = "postgresql://127.0.0.1:1/nothing?connect_timeout=2"
    for source, target, code, reason in (
        ("nothing", store, 2, "is no address of a log"),
        (sqlite(empty), store, 2, "There is no log"),
        (unreachable, sqlite(empty), 2, "cannot be reached"),
        (sqlite(large_log), unreachable, 2, "cannot be reached"),
        (sqlite(large_log), store, 2, "newer everyagent"),
        (store, sqlite(empty), 2, "newer everyagent"),
        (postgres.new_schema(), sqlite(empty), 2, "There is no log"),
        (sqlite(large_log), sqlite(other), 1, "already"),
    ):
        found, said = copied(source, target)
        assert (found, reason in said) == (code, True), said
    assert rows_of(other) == rows_of(large_log)
