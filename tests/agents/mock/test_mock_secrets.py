"""Twenty secrets in seven forms through a session of ten thousand events: none is stored, printed or left behind."""

import base64
from pathlib import Path
from urllib.parse import quote

import httpx2
import msgspec
from tests.agents.stage import daemon_of
from tests.agents.test_secrets_on_agents import SECRETS, command_lines, leaks
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.testing.daemon import NO_TLS

EVENTS = 10_000


def forms(value: str) -> list[str]:
    """Plain, for JSON, for URLs, in base64 after zero to two other bytes, and in hex."""
    data = value.encode()
    shifted = [base64.b64encode(b"x" * shift + data).decode() for shift in range(3)]
    return [value, msgspec.json.encode(value).decode(), quote(value, safe=""), *shifted, data.hex()]


WORDS = [form for value in SECRETS for form in forms(value)]


def test_no_secret_of_a_long_session_is_stored_or_printed(tmp_path: Path) -> None:
    """The agent repeats the message word by word; each is an event."""
    work = tmp_path / "work"
    work.mkdir()
    with (
        daemon_of(tmp_path) as daemon,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
    ):
        secrets = {f"LEAK_{number}": value for number, value in enumerate(SECRETS)}
        body = {"agent": "mock", "directory": str(work), "secrets": secrets, "title": SECRETS[0]}
        assert client.post("/v1/sessions/s", json=body).is_success
        message = " ".join(WORDS * (EVENTS // len(WORDS) + 1))
        client.post("/v1/sessions/s/messages", json={"message": message})
        client.post("/v1/sessions/s/messages", json={"message": f"a message that waits, with {SECRETS[1]}"})
        seen = command_lines()
        wait_until(lambda: _at_rest(client))
        assert client.get("/v1/sessions/s").json()["eventCount"] > EVENTS
        shown = b"".join(
            client.get(f"/v1/sessions/s/{path}").content
            for path in (
                "events?limit=10000&raw=true",
                "events?limit=10000&offset=10000&raw=true",
                "frames?limit=1000",
                "export?format=md",
                "export?format=html",
                "export?format=jsonl",
            )
        )
        assert shown.count(b"[secret LEAK_") > EVENTS
        assert leaks(shown + seen + command_lines()) == []
        assert client.get("/v1/search", params={"q": "LEAK_7"}).json()["hits"]
        stored = {file: file.read_bytes() for file in daemon.data_dir.rglob("*") if file.is_file()}
        scratch = daemon.data_dir / "scratch"
        found = {file: leaks(data) for file, data in stored.items() if scratch not in file.parents}
        assert {file: each for file, each in found.items() if each} == {}
        client.post("/v1/sessions/s/terminate")
    assert leaks(daemon.output().encode()) == []
    left = {file: leaks(file.read_bytes()) for file in daemon.data_dir.rglob("*") if file.is_file()}
    assert {file: each for file, each in left.items() if each} == {}


def _at_rest(client: httpx2.Client) -> bool:
    info = client.get("/v1/sessions/s").json()
    return info["status"] == "idle" and not info["queuedMessages"]
