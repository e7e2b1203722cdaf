"""The real Claude Code behind a real daemon, talking to a scripted model: no key, no traffic but on loopback."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec
from platformdirs import user_cache_path

from everyagent.agents import packages
from everyagent.agents.claude import program
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.items import Item, text_of
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.messages_server import MessagesServer
from everyagent.testing.rules import Rules

LIMIT_SECONDS = 30.0
T = TypeVar("T")


def claude_binary() -> str:
    """The tested version, fetched once into a cache outside the checkout; a named one is used instead."""
    named = os.environ.get(program.BINARY_VARIABLE)
    if named:
        return named
    cache = os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents"
    path = packages.install(program.pinned(), Path(cache) / "claude")
    assert packages.version_of(path) == program.TESTED_VERSION
    return str(path)


class ClaudeSession:
    """One session of the daemon, with a home, a workspace and a model of its own."""

    def __init__(self, daemon: DaemonProcess, model: MessagesServer, folder: Path) -> None:
        self._daemon = daemon
        self.model = model
        self.home = folder / "home"
        self.workspace = folder / "work"
        for each in (self.home, self.workspace):
            each.mkdir(exist_ok=True)
        self.id = ""

    # -- what a client does -----------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: object = None, *, expect: int | None = None) -> httpx2.Response:
        url = f"{self._daemon.url}/v1{path}"
        answer = httpx2.request(method, url, json=body, headers=self._daemon.headers, timeout=LIMIT_SECONDS)
        if expect is None:
            assert answer.is_success, answer.text
        else:
            assert answer.status_code == expect, answer.text
        return answer

    def environment(self) -> dict[str, str]:
        return {
            "HOME": str(self.home),
            "ANTHROPIC_BASE_URL": self.model.url,
            "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_TMPDIR": str(self.home),
            "CLAUDE_CODE_MAX_RETRIES": "2",
        }

    def create(self, *, env: dict[str, str] | None = None, **fields: object) -> "ClaudeSession":
        body: dict[str, object] = {
            "agent": "claude",
            "directory": str(self.workspace),
            "env": {**self.environment(), **(env or {})},
            **fields,
        }
        self.id = msgspec.json.decode(self.call("POST", "/sessions", body).content)["sessionId"]
        return self

    def send(self, text: str, **fields: object) -> None:
        self.call("POST", f"/sessions/{self.id}/messages", {"message": text, **fields})

    def turn(self, text: str, **fields: object) -> TurnEnded:
        """Send it, and wait for the end of the turn."""
        before = len(self.all(TurnEnded))
        self.send(text, **fields)
        return self.next(TurnEnded, before + 1)

    def cancel(self) -> None:
        self.call("POST", f"/sessions/{self.id}/cancel")

    def change(self, **fields: object) -> None:
        self.call("PATCH", f"/sessions/{self.id}", fields)

    def permit(self, permission_id: str, reply: str, message: str | None = None) -> None:
        body: dict[str, object] = {"reply": reply, **({"message": message} if message else {})}
        self.call("POST", f"/sessions/{self.id}/permissions/{permission_id}/reply", body)

    def answer(self, question_id: str, *answers: list[str]) -> None:
        self.call("POST", f"/sessions/{self.id}/questions/{question_id}/reply", {"answers": list(answers)})

    def reject(self, question_id: str) -> None:
        self.call("POST", f"/sessions/{self.id}/questions/{question_id}/reject", {})

    def info(self) -> dict[str, object]:
        return msgspec.json.decode(self.call("GET", f"/sessions/{self.id}").content, type=dict[str, object])

    # -- what a client sees -----------------------------------------------------------------------------------

    def bodies(self) -> list[bytes]:
        answer = self.call("GET", f"/sessions/{self.id}/events?limit=10000")
        page = msgspec.json.decode(answer.content, type=dict[str, msgspec.Raw])
        return [bytes(raw) for raw in msgspec.json.decode(page["events"], type=list[msgspec.Raw])]

    def all(self, kind: type[T]) -> list[T]:
        events = [decode_event(body).data for body in self.bodies()]
        return [data for data in events if isinstance(data, kind)]

    def next(self, kind: type[T], number: int = 1) -> T:
        """The `number`th event of a kind, when it is there."""
        return self.until(lambda: found if len(found := self.all(kind)) >= number else None)[number - 1]

    def until(self, met: Callable[[], T | None]) -> T:
        deadline = time.monotonic() + LIMIT_SECONDS
        while not (found := met()):
            assert time.monotonic() < deadline, "\n".join(body.decode()[:500] for body in self.bodies()[-15:])
            time.sleep(0.02)
        return found

    def items(self, kind: str) -> list[Item]:
        return [done.item for done in self.all(ItemCompleted) if done.item.kind == kind]

    def replies(self) -> list[str]:
        """What the agent itself said, without its sub-agents and without empty messages."""
        said = [item for item in self.items("message") if item.role == "assistant" and not item.subagent]
        return [text_of(item) for item in said if text_of(item)]

    def violations(self) -> list[str]:
        """At rest, every rule must hold over all that was told."""
        self.until(lambda: self.info()["status"] not in ("running", "waiting"))
        rules = Rules()
        for body in self.bodies():
            rules.feed_body(body)
        return [str(each) for each in rules.finish()]
