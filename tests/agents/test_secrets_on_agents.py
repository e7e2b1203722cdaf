"""Twenty secrets in six encodings through a session of each agent: none is stored, printed or left behind."""

import base64
import sys
from collections.abc import Generator
from pathlib import Path
from urllib.parse import quote

import httpx2
import msgspec
import pytest
from tests.agents import adding_mcp_server
from tests.agents.stage import daemon_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.agents.opencode.driver.server import PASSWORD_VARIABLE
from everyagent.model.events import TurnEnded
from everyagent.testing.daemon import NO_TLS, DaemonProcess

AGENTS = ["claude", "codex", "opencode", "amp"]
#: Prints every secret in the agent's environment in six encodings.
PRINTER = """
import base64, json, os, urllib.parse
for name, value in os.environ.items():
    if name.startswith("LEAK_"):
        data = value.encode()
        print(value, json.dumps({"a": value}), json.dumps(json.dumps(value)), urllib.parse.quote(value, safe=""))
        print(*(base64.b64encode(b"x" * shift + data).decode() for shift in range(3)), data.hex())
"""


def secret(number: int) -> str:
    """Each has characters that JSON and URLs escape; headers are ASCII."""
    return f'k{number:02}/"{number * 7919:08x}"+Zq{number * 104729:08x}' + ("é" if number < 17 else "")


SECRETS = [secret(number) for number in range(20)]


def encodings(value: str) -> list[bytes]:
    data = value.encode()
    text = [value, msgspec.json.encode(value).decode()[1:-1], quote(value, safe=""), data.hex()]
    shifted = [base64.b64encode(b"x" * shift + data)[shift + 1 :][:20] for shift in range(3)]
    return [*(each.encode() for each in text), *shifted]


def leaks(data: bytes) -> list[bytes]:
    return [form for value in SECRETS for form in encodings(value) if form in data]


def command_lines() -> bytes:
    """Of all processes on the machine."""
    lines: list[bytes] = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(path.read_bytes())
        except OSError:
            continue
    return b"\n".join(lines)


def server_passwords() -> set[bytes]:
    """The passwords that daemons gave to the servers of OpenCode on this machine."""
    found = set[bytes]()
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:
            continue
        name = PASSWORD_VARIABLE.encode() + b"="
        found |= {each.removeprefix(name) for each in variables if each.startswith(name)}
    return found


@pytest.fixture(params=AGENTS)
def staged(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[tuple[str, DaemonProcess]]:
    with daemon_of(tmp_path, **SURROUNDINGS[request.param](tmp_path)) as daemon:
        yield request.param, daemon


def test_no_secret_is_stored_or_printed(staged: tuple[str, DaemonProcess], tmp_path: Path) -> None:
    agent, daemon = staged
    work = tmp_path / "workspace"
    work.mkdir()
    (work / "printer.py").write_text(PRINTER)
    with (
        real_model(agent, daemon, tmp_path) as model,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
    ):
        model.run(f"{sys.executable} printer.py")
        model.say(f"It is {SECRETS[0]} and {SECRETS[10]}, said {SECRETS[14]} with {SECRETS[17]}.")
        created = client.post(
            "/v1/sessions",
            json={
                "agent": agent,
                "model": model.model,
                "directory": str(work),
                "permissionMode": "bypass",
                "env": model.environment | {f"LEAK_{number}": SECRETS[number] for number in range(10)},
                "secrets": {f"LEAK_{number}": SECRETS[number] for number in range(10, 14)},
                "mcp": {
                    "sums": {
                        "type": "local",
                        "command": [sys.executable, adding_mcp_server.__file__],
                        "env": {f"S{number}": SECRETS[number] for number in range(14, 17)},
                    },
                    "docs": {
                        "type": "remote",
                        "url": f"http://127.0.0.1:9/mcp?key={quote(SECRETS[17], safe='')}",
                        "headers": {"Authorization": f"Bearer {SECRETS[18]}", "X-Key": SECRETS[19]},
                    },
                },
            },
        )
        assert created.is_success, created.text
        path = f"/v1/sessions/{created.json()['sessionId']}"
        client.post(f"{path}/messages", json={"message": f"Print them. One is {SECRETS[3]}."})
        seen, passwords = command_lines(), set[bytes]()

        def ended() -> list[object]:
            nonlocal seen
            seen += command_lines()
            passwords.update(server_passwords() if agent == "opencode" else ())
            return client.get(f"{path}/events", params={"types": TurnEnded.type}).json()["events"]

        assert wait_until(ended)
        events = client.get(f"{path}/events", params={"limit": 10_000}).content
        frames = client.get(f"{path}/frames", params={"limit": 1000}).content
        exports = b"".join(client.get(f"{path}/export?format={each}").content for each in ("md", "html", "jsonl"))
        assert events.count(b"[secret LEAK_") >= 14, events
        assert passwords or agent != "opencode"
        for found in (events, frames, exports, seen):
            assert leaks(found) == []
            assert not any(password in found for password in passwords)
        stored = {file: file.read_bytes() for file in daemon.data_dir.rglob("*") if file.is_file()}
        scratch = daemon.data_dir / "scratch"
        assert {file: leaks(data) for file, data in stored.items() if scratch not in file.parents and leaks(data)} == {}
        client.post(f"{path}/terminate")
    daemon.stop()
    assert leaks(daemon.output().encode()) == []
    left = {file: file.read_bytes() for file in daemon.data_dir.rglob("*") if file.is_file()}
    assert {file: found for file, data in left.items() if (found := leaks(data))} == {}
    left[Path("output")] = daemon.output().encode()
    assert [file for file, data in left.items() if any(password in data for password in passwords)] == []
