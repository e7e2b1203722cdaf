"""Traces in a real collector, Arize Phoenix, as its API gives them back.

EVERYAGENT_TEST_PHOENIX=/path/to/phoenix pytest tests/telemetry/test_phoenix.py     after `pip install arize-phoenix`,
in an environment of its own: with all that it needs it is larger than the rest of the development tools together.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Generator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everyagent.client import Client
from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.waiting import LIMIT_SECONDS, wait_until

PROGRAM = os.environ.get("EVERYAGENT_TEST_PHOENIX")
pytestmark = pytest.mark.skipif(not PROGRAM, reason="EVERYAGENT_TEST_PHOENIX names no program")


@pytest.fixture
def phoenix(tmp_path: Path) -> Generator[str]:
    """The address of Phoenix, with a database of its own."""
    ports = list[str]()
    for _ in range(2):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            ports.append(str(free.getsockname()[1]))
    given = {"PHOENIX_HOST": "127.0.0.1", "PHOENIX_PORT": ports[0], "PHOENIX_GRPC_PORT": ports[1]}
    given |= {
        "PHOENIX_WORKING_DIR": str(tmp_path / "phoenix"),
        "HOME": str(tmp_path),
        "PHOENIX_TELEMETRY_ENABLED": "false",
    }
    with (tmp_path / "phoenix.log").open("wb") as log:
        process = subprocess.Popen(
            [PROGRAM or "", "serve"], env={"PATH": os.environ["PATH"], **given}, stdout=log, stderr=log
        )
        try:
            url = f"http://127.0.0.1:{ports[0]}"
            wait_until(lambda: answers(url) or process.poll() is not None)
            assert process.poll() is None, (tmp_path / "phoenix.log").read_text()
            yield url
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(LIMIT_SECONDS)


def answers(url: str) -> bool:
    try:
        return httpx2.get(f"{url}/healthz", timeout=LIMIT_SECONDS).is_success
    except httpx2.TransportError:
        return False


def spans_of(url: str, session: str) -> list[dict[str, Any]]:
    """The spans of the session's turns, with those below them."""
    answer = httpx2.get(f"{url}/v1/projects/default/spans", params={"limit": 1000}, timeout=LIMIT_SECONDS)
    found: list[dict[str, Any]] = answer.json()["data"] if answer.is_success else []
    traces = {
        span["context"]["trace_id"]
        for span in found
        if span["name"] == "invoke_agent mock" and span["attributes"].get("gen_ai.conversation.id") == session
    }
    return [span for span in found if span["context"]["trace_id"] in traces]


def test_phoenix_shows_a_turn_with_its_model_its_tool_and_its_wait(phoenix: str, tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data", "--default-agent", "mock", "--otel-endpoint", phoenix)
    daemon.start()
    try:
        with Client(daemon.url, TOKEN) as client:
            client.create("shop", model="mock-large")
            client.send("shop", '[tool name=bash command="echo hello"] [ask] [error code=overloaded message=busy]')
            (ask,) = wait_until(lambda: client.asks("shop"))
            client.reply_permission("shop", ask.ask_id, "once")
            spans = wait_until(lambda: spans_of(phoenix, "shop"))
    finally:
        assert daemon.stop() == 0
    by_name = {span["name"]: span for span in spans}
    root = by_name["invoke_agent mock"]
    assert root["parent_id"] is None
    assert root["status_code"] == "ERROR"
    assert root["attributes"]["gen_ai.request.model"] == "mock-large"
    assert {"execute_tool bash", "wait_for_permission", "chat mock-large"} <= set(by_name)
    known = {span["context"]["span_id"] for span in spans}
    assert all(span["parent_id"] in known for span in spans if span is not root)
