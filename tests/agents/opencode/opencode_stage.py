"""The real OpenCode behind a real daemon, talking to a scripted model: no key, no traffic but on loopback."""

import os
from pathlib import Path

import httpx2
import msgspec
from platformdirs import user_cache_path
from tests.agents.stage import Stage, tested_binary
from tests.scripted.chat_server import ChatServer
from tests.waiting import LIMIT_SECONDS

from everyagent.agents import packages
from everyagent.agents.opencode import program
from everyagent.model.events import Error
from everyagent.model.items import Item
from everyagent.testing.daemon import DaemonProcess

MODEL = "scripted/scripted-model"


def opencode_binary() -> str:
    return tested_binary("opencode", program.BINARY_VARIABLE, program.pinned(), program.TESTED_VERSION)


def ripgrep_folder() -> str:
    cache = os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents"
    return str(packages.install(program.ripgrep(), Path(cache) / "opencode" / "ripgrep").parent)


def config(url: str, **more: object) -> dict[str, object]:
    """Nothing but the scripted model is ever connected to."""
    model = {
        "name": "Scripted",
        "reasoning": True,
        "tool_call": True,
        "attachment": True,
        "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
        "limit": {"context": 100_000, "output": 8_000},
        "cost": {"input": 1, "output": 2},
    }
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Scripted",
        "options": {"baseURL": url, "apiKey": "sk-not-a-key"},
        "models": {"scripted-model": model},
    }
    return {
        "share": "disabled",
        "lsp": False,
        "formatter": False,
        "model": MODEL,
        "small_model": MODEL,
        "enabled_providers": ["scripted"],
        "provider": {"scripted": provider},
        **more,
    }


class OpencodeSession(Stage[ChatServer]):
    """Sessions with one `folder` have one home and one workspace, so one server."""

    agent = "opencode"

    def __init__(self, daemon: DaemonProcess, model: ChatServer, folder: Path) -> None:
        super().__init__(daemon, model, folder)
        self.extra: dict[str, object] = {}

    def another(self, workspace: Path | None = None) -> "OpencodeSession":
        """A second session on the same server, perhaps in another directory."""
        other = OpencodeSession(self.daemon, self.model, self.home.parent)
        other.extra = self.extra
        if workspace:
            workspace.mkdir()
            other.workspace = workspace
        return other

    def environment(self) -> dict[str, str]:
        content = msgspec.json.encode(config(self.model.url, **self.extra)).decode()
        folders = {f"XDG_{name.upper()}_HOME": str(self.home / name) for name in ("config", "data", "state", "cache")}
        return {"HOME": str(self.home), "OPENCODE_CONFIG_CONTENT": content, **folders}

    def errors(self) -> list[Error]:
        return self.all(Error)

    def statuses(self, name: str) -> list[Item]:
        return [item for item in self.items("status") if item.name == name]

    def native(self, path: str, body: object = None) -> object:
        """The answer of the server itself, to a request with the password from its environment."""
        (pid, *_) = sorted(self.processes("serve"))
        command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        environment = dict(row.split("=", 1) for row in Path(f"/proc/{pid}/environ").read_text().split("\0") if row)
        answer = httpx2.request(
            "POST" if body else "GET",
            f"http://127.0.0.1:{command[command.index('--port') + 1]}{path}",
            auth=("opencode", environment["OPENCODE_SERVER_PASSWORD"]),
            params={"directory": str(self.workspace)},
            json=body,
            verify=False,
            timeout=LIMIT_SECONDS,
        )
        return msgspec.json.decode(answer.content)

    def server(self) -> int:
        """The process whose home is this session's, behind the wall that shows its workspace."""
        servers = self.processes("serve")
        (found,) = [pid for pid in servers if Path(f"/proc/{pid}/root{self.workspace}").exists()]
        return found
