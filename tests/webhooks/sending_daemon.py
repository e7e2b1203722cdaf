"""A daemon that sends webhooks to receivers on this machine, used through its API."""

from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx2

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.waiting import LIMIT_SECONDS, wait_until
from tests.webhooks.receiver import Receiver

#: With no isolation, an agent starts a little sooner.
FLAGS = ("--webhook-networks", "127.0.0.0/8", "--default-agent", "mock", "--isolation", "none")
_numbers = count(1)


class SendingDaemon:
    def __init__(self, process: DaemonProcess, folder: Path) -> None:
        self.process = process
        self.folder = folder

    def request(self, method: str, path: str, body: object = None, **headers: str) -> httpx2.Response:
        url = path if path.startswith("http") else f"{self.process.url}{path}"
        given = self.process.headers | headers
        return httpx2.request(method, url, json=body, headers=given, timeout=LIMIT_SECONDS, verify=NO_TLS)

    def call(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        answer = self.request(method, path, body, **headers)
        assert answer.is_success, answer.text
        return answer.json() if answer.content else {}

    def add(self, receiver: Receiver, *events: str, path: str = "/", **more: object) -> tuple[str, str]:
        """Adds an endpoint. Returns its id and its secret."""
        body = {"url": receiver.url(path), **({"events": events} if events else {}), **more}
        made = self.call("POST", "/v1/webhooks", body)
        webhook, secret = made["webhook"], made["secret"]
        assert isinstance(webhook, dict)
        return str(webhook["webhookId"]), str(secret)

    def webhook(self, webhook_id: str) -> Any:
        return self.call("GET", f"/v1/webhooks/{webhook_id}")

    def remove(self, webhook_id: str) -> None:
        self.call("DELETE", f"/v1/webhooks/{webhook_id}")

    def session(self, **fields: object) -> str:
        directory = self.folder / f"work{next(_numbers)}"
        directory.mkdir(parents=True)
        body = {"agent": "mock", "directory": str(directory), **fields}
        return str(self.call("POST", "/v1/sessions", body)["sessionId"])

    def turn(self, session: str, message: str = "hello") -> None:
        """Sends a message and waits for the end of its turn."""
        answer = self.request("POST", f"/v1/sessions/{session}/messages/stream", {"message": message})
        assert answer.is_success, answer.text

    def send(self, session: str, message: str) -> None:
        self.call("POST", f"/v1/sessions/{session}/messages", {"message": message})

    def until_paused(self, webhook_id: str) -> Any:
        return wait_until(lambda: (found := self.webhook(webhook_id))["pausedAt"] and found, "the webhook is paused")

    def until_received(self, receiver: Receiver, number: int) -> None:
        wait_until(lambda: len(receiver.received) >= number, lambda: receiver.types())


def open_link(url: str, form: dict[str, str] | None = None, **headers: str) -> httpx2.Response:
    """Opens a link for an answer as a browser does it: without the daemon's token."""
    given = {"content-type": "application/x-www-form-urlencoded"} | headers
    content = None if form is None else urlencode(form).encode()
    method = "GET" if form is None else "POST"
    return httpx2.request(method, url, content=content, headers=given, timeout=LIMIT_SECONDS, verify=NO_TLS)
