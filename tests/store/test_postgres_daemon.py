"""The daemon on a PostgreSQL database: both APIs, kills, a database that is away, and stores that are refused."""

import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import httpx2
import pytest

from everyagent.client import ApiError, Client
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.managed.raw import TOOLSET, Raw, texts
from tests.postgres.server import PostgresServer
from tests.s3.server import S3Server
from tests.waiting import LIMIT_SECONDS, wait_until


@pytest.fixture
def server() -> Generator[PostgresServer]:
    """A server of its own, because it is stopped."""
    server = PostgresServer(durable=True)
    server.start()
    yield server
    server.close()


def ended(client: Client, session_id: str) -> int | None:
    """How many turns have ended; None while the database is away."""
    try:
        return len(client.event_page(session_id, types=["turn.ended"]).events)
    except ApiError as error:
        if error.status != 503:
            raise
        return None


def test_both_apis_work_and_everything_survives_a_kill_and_an_absent_database(server: PostgresServer, tmp_path: Path):
    url = server.new_schema()
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock", "--store", url)
    daemon.start()
    with Client(daemon.url, TOKEN) as client:
        client.create("one", agent="mock", directory=str(tmp_path))
        client.run_turn("one", "[text words=20]")
        before = [event.sequence for event in client.event_page("one").events]
        assert before == list(range(1, len(before) + 1))
    raw = Raw(daemon)
    raw.create(TOOLSET)
    raw.say("hello managed")
    raw.wait_done()
    said = texts(raw.events())
    file = raw.upload("a.txt", b"content" * 1000)

    daemon.kill()
    daemon.start()
    with Client(daemon.url, TOKEN) as client:
        assert [event.sequence for event in client.event_page("one").events][: len(before)] == before
        client.run_turn("one", "[text words=3]")
        assert ended(client, "one") == 2
    assert texts(raw.events()) == said
    assert raw.answer("GET", f"/files/{file}").status_code == 200

    with Client(daemon.url, TOKEN) as client:
        client.send("one", "[text words=300 delay=0.01]")
        wait_until(lambda: client.session("one").status == "running")
        server.stop()
        with pytest.raises(ApiError) as refused:
            client.create("two", agent="mock", directory=str(tmp_path))
        assert refused.value.status == 503
        answer = httpx2.post(
            f"{daemon.url}/v1/sessions/one/messages",
            json={"message": "hi"},
            headers=daemon.headers,
            verify=NO_TLS,
            timeout=LIMIT_SECONDS,
        )
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), answer.text
        assert httpx2.get(f"{daemon.url}/v1/health", verify=NO_TLS).status_code == 200
        server.start()
        wait_until(lambda: ended(client, "one") == 3)
        sequences = [event.sequence for event in client.event_page("one", limit=1000).events]
        assert sequences == list(range(1, len(sequences) + 1))
        client.create("two", agent="mock", directory=str(tmp_path))
        client.run_turn("two", "[text words=3]")
    raw.close()
    assert daemon.stop() == 0
    assert not (tmp_path / "data" / "everyagent.db").exists()
    words = ["managed", "rebuild", "--check", "--data-dir", str(tmp_path / "data")]
    checked = subprocess.run(
        [sys.executable, "-m", "everyagent", *words],
        env={**os.environ, "EVERYAGENT_STORE": url},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0, checked.stdout + checked.stderr


@pytest.mark.parametrize(
    ("store", "said"),
    [
        ("postgresql://me:hidden@127.0.0.1:1/there", "postgresql://me@127.0.0.1:1/there cannot be reached"),
        ("mysql://me:hidden@there", "--store has an invalid value"),
    ],
)
def test_a_store_that_cannot_be_used_ends_the_start_with_a_message(tmp_path: Path, store: str, said: str):
    words = ["serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--store", store]
    done = subprocess.run([sys.executable, "-m", "everyagent", *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "--store" in done.stderr
    assert "Traceback" not in done.stderr
    assert "hidden" not in done.stderr


@pytest.mark.parametrize(
    ("blobs", "said"),
    [
        ("s3://bucket/prefix?endpoint=http://127.0.0.1:1", "s3://bucket/prefix cannot be reached"),
        ("s3://bucket?secret=hidden", "has the unknown option secret"),
        ("ftp://there", "--blobs has an invalid value"),
        ("/does/not/exist", "/does/not/exist does not exist"),
    ],
)
def test_a_place_for_blobs_that_cannot_be_used_ends_the_start_with_a_message(
    postgres_url: str, tmp_path: Path, blobs: str, said: str
):
    words = ["serve", "--port", "0", "--data-dir", str(tmp_path / "data"), "--store", postgres_url, "--blobs", blobs]
    done = subprocess.run(
        [sys.executable, "-m", "everyagent", *words],
        env={**os.environ, **S3Server.environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
    )
    assert done.returncode == 2, done.stderr
    assert (said in done.stderr, "--blobs" in done.stderr) == (True, True), done.stderr
    assert "Traceback" not in done.stderr


def test_without_s3_files_get_a_503_agents_work_on_and_all_returns_by_itself(
    postgres_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    for name, value in S3Server.environment.items():
        monkeypatch.setenv(name, value)
    s3 = S3Server()
    s3.start()
    place = s3.new_url()
    daemon = DaemonProcess(
        tmp_path / "data", "--default-agent", "mock", "--store", postgres_url, "--blobs", place, "--isolation", "none"
    )
    daemon.start()
    raw = Raw(daemon)
    content = os.urandom(20 << 20)
    file = raw.upload("a.bin", content)
    raw.session_id = raw.create(TOOLSET)
    s3.stop()
    for answer in (raw.answer("GET", f"/files/{file}/content"), raw.post_file("b.bin", b"b")):
        assert (answer.status_code, answer.headers.get("retry-after")) == (503, "1"), answer.text
    with Client(daemon.url, TOKEN) as client:
        client.create("one", agent="mock", directory=str(tmp_path))
        client.run_turn("one", "[text words=1] " + "x" * 400_000)  # a body for a blob: in the database meanwhile
        bodies = httpx2.get(f"{daemon.url}/v1/sessions/one/events", headers=daemon.headers, verify=NO_TLS)
        assert "x" * 400_000 in bodies.text
    s3.start()
    wait_until(lambda: raw.answer("GET", f"/files/{file}/content").status_code == 200)
    assert raw.answer("GET", f"/files/{file}/content").content == content
    wait_until(lambda: len(s3.names(place)) > 2)
    raw.upload("b.bin", b"b")
    raw.close()
    assert daemon.stop() == 0
    s3.close()
