"""Limited networking on every agent: commands reach the allowed hosts only."""

import base64
import json
import shutil
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from everyagent.managed.outcomes.judge import JUDGES
from everyagent.managed.resources.agents.shape import McpServer
from everyagent.managed.resources.environments.networking import REGISTRIES, hosts_of, reaches
from everyagent.managed.resources.environments.shape import Cloud, Limited
from everyagent.testing.daemon import DaemonProcess
from tests.agents.offline import needs_isolation
from tests.agents.stage import daemon_of
from tests.managed.raw import ASKING, TOOLSET, Event, Raw, texts
from tests.managed.real_model import RealModel
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS

#: Tries a direct connection, then the configured proxy, then a host that is not allowed.
PROBE = """
import os, socket, sys, urllib.request
port = int(sys.argv[1])
proxy = os.environ.get("http_proxy", "")
for name in ("no_proxy", "NO_PROXY"):
    os.environ.pop(name, None)

def tried(name, reach):
    try:
        print(name, "reached" if reach() else "empty", flush=True)
    except Exception as problem:
        print(name, "refused", repr(problem), flush=True)

def by_proxy(host):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({"http": proxy}))
    return opener.open(f"http://{host}:{port}/", timeout=20).read() == b"here"

tried("direct", lambda: socket.create_connection(("127.0.0.1", port), 5))
tried("proxied", lambda: by_proxy("127.0.0.1"))
tried("other", lambda: by_proxy("localhost"))
"""
NOTHING = {"type": "cloud", "networking": {"type": "limited"}}
#: Project settings for shells and sandboxes, which must have no effect.
HOSTILE = {
    ".claude/settings.json": '{"env": {"CLAUDE_CODE_SHELL": "/bin/bash", "SHELL": "/bin/bash"}}',
    ".codex/config.toml": 'sandbox_mode = "danger-full-access"\n',
    "opencode.json": '{"shell": "/bin/bash"}',
}
SOME = {"type": "cloud", "networking": {"type": "limited", "allowed_hosts": ["https://127.0.0.1"]}}


class Here(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "4")
        self.end_headers()
        self.wfile.write(b"here")

    def log_message(self, format: str, *args: object) -> None: ...


class Scene:
    """A real agent, a model that makes it run the probe, and a server on the machine that the probe tries."""

    def __init__(self, agent: str, model: RealModel, daemon: DaemonProcess, folder: Path, port: int) -> None:
        self.raw = Raw(daemon)
        self.model = model
        self.daemon = daemon
        self._agent = agent
        probe = base64.b64encode(PROBE.encode()).decode()
        self._command = f"{sys.executable} -c 'import base64; exec(base64.b64decode(\"{probe}\"))' {port}"

    def create(self, environment: object, toolset: object = TOOLSET) -> Path:
        """Create a session. Returns its folder."""
        vaults = [self.raw.vault(self.model.environment)]
        self.raw.create(toolset, agent=self._agent, model=self.model.model, environment=environment, vault_ids=vaults)
        return self.daemon.data_dir / "workspaces" / self.raw.session_id

    def probed(self, words: str, before: str = "") -> str:
        """Run a turn with the probe. Returns the probe's output."""
        known = len(self.results())
        self.model.run(f"{before}{self._command}", when=words)
        self.model.say(f"Tried {words}.")
        self.raw.say(words)
        self.raw.wait_done()
        assert f"Tried {words}." in texts(self.raw.events())
        (result,) = self.results()[known:]
        return json.dumps(result["content"])

    def results(self) -> list[Event]:
        return [event for event in self.raw.events() if event["type"] == "agent.tool_result"]


@contextmanager
def staged(agent: str, folder: Path) -> Generator[Scene]:
    for name in ("home", "daemon", "agent"):
        (folder / name).mkdir()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Here)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with (
            daemon_of(folder / "daemon", **SURROUNDINGS[agent](folder / "home")) as daemon,
            real_model(agent, daemon, folder / "agent") as model,
        ):
            scene = Scene(agent, model, daemon, folder, server.server_address[1])
            try:
                yield scene
            finally:
                scene.raw.close()
    finally:
        server.shutdown()
        server.server_close()


@needs_isolation
@pytest.mark.parametrize("agent", sorted(SURROUNDINGS))
def test_commands_reach_only_allowed_hosts(agent: str, tmp_path: Path) -> None:
    with staged(agent, tmp_path) as scene:
        scene.create(None)
        assert "direct reached" in scene.probed("freely")
        scene.create(NOTHING, ASKING)
        said = scene.probed("nothing")
        assert "direct refused" in said
        assert "reached" not in said
        folder = scene.create(SOME)
        for name, content in HOSTILE.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(content)
        for time in ("first", "after a restart"):
            said = scene.probed(time, before=f"touch '{time}'; ")
            assert "direct refused" in said
            assert "proxied reached" in said
            assert "other reached" not in said
            assert (folder / time).exists()
            scene.daemon.stop()
            scene.daemon.start(port=scene.daemon.port)


@needs_isolation
def test_a_judge_has_the_same_network_limits_as_the_session(daemon: DaemonProcess) -> None:
    raw = Raw(daemon)
    raw.create(TOOLSET, environment=SOME)
    outcome = {"type": "user.define_outcome", "description": "Done", "rubric": {"type": "text", "content": "Is it?"}}
    raw.send(outcome)
    raw.wait_idle("end_turn")
    judges = [
        each
        for each in cast("list[Event]", raw.universal_call("GET", "/sessions")["sessions"])
        if cast("dict[str, str]", each["metadata"]).get(JUDGES) == raw.session_id
    ]
    assert judges
    assert all(judge["allowedHosts"] == ["127.0.0.1"] for judge in judges)
    raw.close()


def test_registries_and_mcp_servers_are_added_to_the_allowed_hosts() -> None:
    server = McpServer(name="docs", url="https://docs.example.org/mcp")
    assert hosts_of(Cloud(), [server]) is None
    assert hosts_of(Cloud(networking=Limited()), [server]) == []
    some = Cloud(networking=Limited(allowed_hosts=["https://a.example.org/", "A.example.org"]))
    assert hosts_of(some, [server]) == ["a.example.org"]
    every = Cloud(networking=Limited(allow_mcp_servers=True, allow_package_managers=True))
    assert hosts_of(every, [server]) == [*REGISTRIES, "docs.example.org"]
    assert not reaches(some, server)
    assert reaches(every, server)
    assert reaches(Cloud(networking=Limited(allowed_hosts=["*.example.org"])), server)


@needs_isolation
def test_a_session_continues_without_an_mcp_server_outside_its_network(daemon: DaemonProcess) -> None:
    raw = Raw(daemon)
    toolset = {"type": "mcp_toolset", "mcp_server_name": "docs"}
    servers = [{"type": "url", "name": "docs", "url": "https://docs.example.org/mcp"}]
    raw.create(toolset, environment=SOME, mcp_servers=servers)
    raw.say("Hello")
    raw.wait_idle("end_turn")
    (error,) = [cast("Event", event["error"]) for event in raw.events() if event["type"] == "session.error"]
    assert error["type"] == "mcp_connection_failed_error"
    assert error["mcp_server_name"] == "docs"
    assert "allow_mcp_servers" in str(error["message"])
    raw.close()


def test_an_invalid_host_is_refused(daemon: DaemonProcess) -> None:
    raw = Raw(daemon)
    config = {"type": "cloud", "networking": {"type": "limited", "allowed_hosts": ["ok.example.org", "not a host"]}}
    answer = raw.answer("POST", "/environments", {"name": "wrong", "config": config})
    assert answer.status_code == 400
    assert "'not a host' is not a host" in answer.text
    raw.close()


def test_a_machine_that_cannot_limit_the_network_is_reported(tmp_path: Path) -> None:
    """Without `nsenter`, on an agent that needs it."""
    for folder in ("bin", "home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    for program in ("bash", "sh", "git", "python3"):
        (tmp_path / "bin" / program).symlink_to(shutil.which(program) or program)
    surroundings = SURROUNDINGS["claude"](tmp_path / "home") | {"PATH": str(tmp_path / "bin")}
    with (
        daemon_of(tmp_path / "daemon", **surroundings) as daemon,
        real_model("claude", daemon, tmp_path / "agent") as model,
    ):
        raw = Raw(daemon)
        said = raw.warnings("/environments", {"name": "no host", "config": NOTHING})
        assert "limited networking is enforced on Codex alone: There is no program nsenter" in said
        model.say("Hello.")
        vaults = [raw.vault(model.environment)]
        raw.create(TOOLSET, agent="claude", model=model.model, environment=NOTHING, vault_ids=vaults)
        raw.say("Hello")
        raw.wait_idle("end_turn")
        (error,) = [cast("Event", event["error"]) for event in raw.events() if event["type"] == "session.error"]
        assert "The network of this session is not limited" in str(error["message"])
        raw.close()
