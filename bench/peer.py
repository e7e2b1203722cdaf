"""sandbox-agent, the nearest peer, from npm: it hands an agent's lines to readers, from memory, without a schema."""

import os
import stat
import subprocess
import sys
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
from platformdirs import user_cache_path

from bench import flood_agent
from bench.figure import Unmeasured
from bench.machine import cores, on_core, peak_bytes
from bench.readers import Marks, Readers
from bench.served import Busy, Server, folder
from everyagent.agents import packages
from everyagent.runtime.ports import free_port

VERSION = "0.4.2"
#: It is started as this agent: the peer runs any program of that name on the PATH.
AGENT = "opencode"
MARKS = Marks(b"\ndata: {", b'"stopReason":"end_turn"}}')
#: The peer loses events, the last one, too. It is done when it sends nothing for so many seconds.
QUIET = 2.0
LIMIT = 30.0


def program() -> Path:
    """Fetched once, into a cache."""
    name = f"@sandbox-agent/cli-{packages.platform_name()}"
    found = packages.Program(package=name, version=VERSION, member="package/bin/sandbox-agent")
    cache = Path(os.environ.get("EVERYAGENT_AGENT_CACHE") or user_cache_path("everyagent") / "agents")
    return packages.install(found, cache / "sandbox-agent")


class Peer(Server):
    """A running sandbox-agent. `seconds` is the time from its start to its first answer."""

    def __init__(self, process: subprocess.Popen[bytes], url: str, began: float) -> None:
        super().__init__(process.pid, url)
        self.client = httpx.Client(base_url=url, timeout=LIMIT)
        while not self._healthy():
            if process.poll() is not None or time.perf_counter() > began + LIMIT:
                raise Unmeasured("sandbox-agent did not start")
            time.sleep(0.002)
        self.seconds = time.perf_counter() - began

    def flood(self, name: str, events: int, readers: int, limit: float) -> "PeerFlood":
        self._call(name, 1, "initialize", {"protocolVersion": 1, "clientCapabilities": {}}, agent=AGENT)
        self._call(name, 2, "session/new", {"cwd": "/", "mcpServers": []})
        self.move_agents()
        return PeerFlood(self, name, events, readers, limit)

    def prompt(self, name: str, events: int) -> None:
        """Returns at once."""
        prompt = [{"type": "text", "text": str(events)}]
        message = {"jsonrpc": "2.0", "id": 3, "method": "session/prompt"}
        body = {**message, "params": {"sessionId": "flood", "prompt": prompt}}
        try:
            self.client.post(f"/v1/acp/{name}", json=body, timeout=httpx.Timeout(LIMIT, read=0.01))
        except httpx.ReadTimeout:
            return

    def _call(self, name: str, id: int, method: str, params: object, **query: str) -> None:
        body = {"jsonrpc": "2.0", "id": id, "method": method, "params": params}
        self.client.post(f"/v1/acp/{name}", json=body, params=query).raise_for_status()

    def _healthy(self) -> bool:
        try:
            return self.client.get("/v1/health").is_success
        except httpx.TransportError:
            return False


class PeerFlood:
    """One flood: `lost` is the share of deliveries that no reader got."""

    def __init__(self, peer: Peer, name: str, events: int, count: int, limit: float) -> None:
        readers = Readers(peer, f"/v1/acp/{name}", MARKS)
        try:
            readers.open(count)
            self.busy = Busy(peer)
            began = time.perf_counter()
            peer.prompt(name, events)
            self.bytes = readers.drain(limit, QUIET)
            self.busy.stop()
        finally:
            readers.close()
        self.seconds = readers.last_byte - began
        self.deliveries = sum(reader.events for reader in readers.all)
        self.lost = max(0.0, 1 - self.deliveries / (events * count))
        self.peak = peak_bytes(peer.pid)


@contextmanager
def peer(path: Path) -> Generator[Peer]:
    """`path` is the program. It runs on the daemon's core, with a home of its own."""
    with folder() as home:
        agent = home / AGENT
        agent.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{flood_agent.__file__}" 200\n')
        agent.chmod(agent.stat().st_mode | stat.S_IXUSR)
        environment = {"HOME": str(home), "PATH": f"{home}:/usr/bin:/bin", "SANDBOX_AGENT_REQUIRE_PREINSTALL": "1"}
        port = free_port()
        argv = [path, "server", "--no-token", "--no-telemetry", "--port", str(port)]
        began = time.perf_counter()
        with on_core(cores().daemon):
            process = subprocess.Popen(
                argv, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
        try:
            with on_core(cores().load):
                yield Peer(process, f"http://127.0.0.1:{port}", began)
        finally:
            process.terminate()
            process.wait(LIMIT)
