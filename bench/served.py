"""Starts a daemon on its own core with a temporary data folder."""

import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit

from bench.figure import Unmeasured
from bench.machine import core_seconds, cores, cpu_seconds, descendants, move, on_core
from everyagent.client import Client
from everyagent.testing.daemon import TOKEN, DaemonProcess


@contextmanager
def folder() -> Generator[Path]:
    with tempfile.TemporaryDirectory(prefix="everyagent-bench-", ignore_cleanup_errors=True) as path:
        yield Path(path)


class Server:
    """A running process that serves HTTP."""

    def __init__(self, pid: int, url: str) -> None:
        self.pid = pid
        parts = urlsplit(url)
        self.address = (parts.hostname or "", parts.port or 0)

    def get(self, path: str) -> bytes:
        """The bytes of a request."""
        host, port = self.address
        return f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()

    def cpu(self) -> float:
        """CPU seconds of the process, without its agents."""
        return cpu_seconds(self.pid)

    def agents_cpu(self) -> float:
        return cpu_seconds(*descendants(self.pid))

    def move_agents(self) -> None:
        """To the other core."""
        for pid in descendants(self.pid):
            with suppress(FileNotFoundError):
                move(pid, cores().load)


class Served(Server):
    """A running daemon and its client."""

    def __init__(self, process: DaemonProcess, client: Client, directory: Path) -> None:
        super().__init__(process.pid, process.url)
        self.client = client
        self.folder = directory

    def create(self, session_id: str) -> None:
        self.client.create(session_id, agent="mock", directory=str(self.folder))

    def warm(self, session_id: str) -> int:
        """Creates a session whose agent runs on the other core. Returns its head."""
        self.create(session_id)
        self.client.run_turn(session_id, "[hello]")
        self.move_agents()
        return self.idle(session_id)

    def idle(self, session_id: str, limit: float = 30.0) -> int:
        """Waits for the end of the session's turn. Returns its head."""
        deadline = time.monotonic() + limit
        while time.monotonic() < deadline:
            session = self.client.session(session_id)
            if session.status == "idle":
                return session.event_count
            time.sleep(0.02)
        raise Unmeasured(f"the session {session_id} was still at work after {limit:.0f} s")

    def events(self, session_id: str, after: int, types: str) -> int:
        """How many events of these types follow a position."""
        wanted = types.split(",")
        return len(list(self.client.events(session_id, offset=after, types=wanted, follow=False)))


class Busy:
    """Measures CPU time of the daemon and of the cores from its creation to `stop`."""

    def __init__(self, daemon: Server) -> None:
        self._daemon = daemon
        self._before = self._now()

    def stop(self) -> None:
        daemon, load, core, clock = (after - before for before, after in zip(self._before, self._now(), strict=True))
        self.seconds = clock
        self.daemon = daemon
        self.load = load
        self.others = max(0.0, core - daemon)

    def _now(self) -> tuple[float, float, float, float]:
        load = self._daemon.agents_cpu() + time.process_time()
        return self._daemon.cpu(), load, core_seconds(cores().daemon), time.perf_counter()

    def __str__(self) -> str:
        """Use of the cores, and the share of the daemon's core that other processes took."""
        shares = f"daemon's core {self.daemon / self.seconds:.0%}, load's {self.load / self.seconds:.0%} busy"
        return f"{shares}, others took {self.others / self.seconds:.0%}"


@contextmanager
def served(*flags: str, vault_key: Path | None = None) -> Generator[Served]:
    """Starts a daemon on one core; this process runs on the other. `vault_key` is that of another node."""
    with folder() as path:
        process = DaemonProcess(path / "data", *flags)
        if vault_key is not None:
            process.data_dir.mkdir(mode=0o700)
            shutil.copy(vault_key, process.data_dir)
        try:
            with on_core(cores().daemon):
                process.start()
            with on_core(cores().load), Client(process.url, TOKEN) as client:
                yield Served(process, client, path)
        finally:
            process.stop()
