"""The real Codex behind a real daemon, talking to a scripted model: no key, no traffic but on loopback."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import httpx2
import msgspec
from platformdirs import user_cache_path

from everyagent.agents import packages
from everyagent.agents.codex import program
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, TurnEnded
from everyagent.model.items import Item, text_of
from everyagent.model.parts import Json
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.responses_server import ResponsesServer
from everyagent.testing.rules import Rules

LIMIT_SECONDS = 25.0
T = TypeVar("T")

#: Nothing but the scripted model is ever connected to.
CONFIG = """\
model = "gpt-5.5"
model_provider = "scripted"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "{web_search}"
{top}
[features]
plugins = false
apps = false
unbounded_connection_retries = false
default_mode_request_user_input = true
[tools.update_plan]
enabled = true
[analytics]
enabled = false
[feedback]
enabled = false
[model_providers.scripted]
name = "Scripted"
base_url = "{url}"
env_key = "SCRIPTED_KEY"
wire_api = "responses"
requires_openai_auth = false
supports_websockets = false
request_max_retries = 1
stream_max_retries = 2
stream_idle_timeout_ms = 20000
"""


def codex_binary() -> str:
    """The tested version, fetched once into a cache outside the checkout; a named one is used instead."""
    named = os.environ.get(program.BINARY_VARIABLE)
    if named:
        return named
    cache = os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents"
    path = packages.install(program.pinned(), Path(cache) / "codex")
    assert packages.version_of(path) == program.TESTED_VERSION
    return str(path)


class CodexSession:
    """One session of the daemon; those with one `folder` have one home, so one app-server."""

    def __init__(self, daemon: DaemonProcess, model: ResponsesServer, folder: Path) -> None:
        self._daemon = daemon
        self.model = model
        self.home = folder / "home"
        self.workspace = folder / "work"
        for each in (self.home, self.workspace):
            each.mkdir(exist_ok=True)
        self.configure()
        self.id = ""

    def configure(self, top: str = "", *, web_search: str = "disabled", url: str | None = None) -> None:
        config = CONFIG.format(url=url or self.model.url, top=top, web_search=web_search)
        (self.home / "config.toml").write_text(config)

    def another(self) -> "CodexSession":
        """A second session on the same app-server."""
        return CodexSession(self._daemon, self.model, self.home.parent)

    # -- what a client does -----------------------------------------------------------------------------------

    def call(self, method: str, path: str, body: Json = None, *, expect: int | None = None) -> httpx2.Response:
        url = f"{self._daemon.url}/v1{path}"
        answer = httpx2.request(method, url, json=body, headers=self._daemon.headers, timeout=LIMIT_SECONDS)
        if expect is None:
            assert answer.is_success, answer.text
        else:
            assert answer.status_code == expect, answer.text
        return answer

    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "CODEX_HOME": str(self.home), "SCRIPTED_KEY": "sk-not-a-key"}

    def create(self, *, env: dict[str, str] | None = None, **fields: object) -> "CodexSession":
        body: dict[str, object] = {
            "agent": "codex",
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

    def terminate(self) -> None:
        self.call("POST", f"/sessions/{self.id}/terminate")

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
        """What the agent itself said, without its sub-agents and without what it only thought."""
        said = [item for item in self.items("message") if item.role == "assistant" and not item.subagent]
        return [text_of(item) for item in said if text_of(item)]

    def statuses(self, name: str) -> list[Item]:
        return [item for item in self.items("status") if item.name == name]

    def app_server(self) -> int:
        """The process whose home is this session's."""
        found = self.processes(b"app-server")
        assert len(found) == 1, found
        return found[0]

    def processes(self, words: bytes) -> list[int]:
        """Processes of this home with these words among their arguments."""
        wanted = f"CODEX_HOME={self.home}".encode()
        found: list[int] = []
        for name in os.listdir("/proc"):
            try:
                environment = Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
                command = Path(f"/proc/{name}/cmdline").read_bytes()
            except OSError:
                continue
            if name.isdecimal() and wanted in environment and words in command:
                found.append(int(name))
        return found

    def violations(self) -> list[str]:
        """At rest, every rule must hold over all that was told."""
        self.until(lambda: self.info()["status"] not in ("running", "waiting"))
        rules = Rules()
        for body in self.bodies():
            rules.feed_body(body)
        return [str(each) for each in rules.finish()]
