"""`everyagent webhooks` beside a running daemon."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from command_line import COMMAND, environment
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver, receiving

from everyagent.testing.daemon import DaemonProcess


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def test_an_endpoint_is_added_tested_listed_replayed_and_removed(tmp_path: Path, receiver: Receiver) -> None:
    process = DaemonProcess(tmp_path / "data", "--webhook-networks", "127.0.0.0/8", "--default-agent", "mock")
    process.start()
    given = environment(tmp_path / "data") | {"EVERYAGENT_TOKEN": process.headers["authorization"].split()[1]}

    def cli(*words: str, code: int = 0) -> tuple[str, str]:
        done = subprocess.run([*COMMAND, *words], env=os.environ | given, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    try:
        secret, said = cli("webhooks", "add", receiver.url(), "--name", "pager", "--event", "turn.ended")
        webhook = said.split()[3].rstrip(".")
        assert secret.startswith("whsec_")
        assert "answered 200" in cli("webhooks", "test", webhook)[1]
        cli("run", "mock", "[hello]")
        wait_until(lambda: len(receiver.received) == 2)
        receiver.received[1].verify(secret.strip())
        (delivery,) = wait_until(lambda: msgspec.json.decode(cli("webhooks", "deliveries", webhook, "--json")[0]))
        assert delivery["messageId"] == receiver.ids()[1]
        _, row = cli("webhooks", "list")[0].splitlines()
        assert row.split() == [webhook, "pager", "default", receiver.url(), "turn.ended", delivery["cursor"], "active"]
        assert "gets everything after 0.0" in cli("webhooks", "replay", webhook, "--after", "0.0")[1]
        wait_until(lambda: len(receiver.received) == 3)
        assert receiver.ids()[2] == receiver.ids()[1]
        assert "turn.ended" in cli("webhooks", "deliveries", webhook)[0]
        receiver.behave = lambda received: 500
        assert "answered 500" in cli("webhooks", "test", webhook, code=1)[1]
        assert "--webhook-networks 10.0.0.1" in cli("webhooks", "add", "http://10.0.0.1/", code=1)[1]
        _, said = cli("webhooks", "add", receiver.url(), "--event", "foo", code=2)
        assert 'Invalid value "foo" for --event. Choose from: "turn.ended", ' in said
        assert '"session.status_idled"' in said
        _, said = cli("webhooks", "add", "notaurl", code=2)
        assert said == "error: 'notaurl' is no address. Write one like https://example.org/hook.\n"
        assert "Removed" in cli("webhooks", "remove", webhook)[1]
        assert cli("webhooks", "list", "--json")[0].strip() == "[]"
    finally:
        process.stop()
