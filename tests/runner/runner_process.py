"""A daemon, a runner and the link between them, each in its own process or task, that tests can break."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2
import msgspec

from everyagent.model.decoding import decode_event
from everyagent.model.events import Event
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from everyagent.testing.rules import check
from tests.waiting import LIMIT_SECONDS, wait_until


class _Page(msgspec.Struct):
    events: list[msgspec.Raw]


class Link:
    """Forwards connections on a port of its own to another one, until it is cut."""

    def __init__(self) -> None:
        self.target = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: set[socket.socket] = set()
        self._whole = True
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}"

    def cut(self) -> None:
        """Reset all connections, and refuse new ones until `mend`."""
        with self._lock:
            self._whole = False
            for end in self._open:
                with contextlib.suppress(OSError):
                    end.shutdown(socket.SHUT_RDWR)

    def mend(self) -> None:
        self._whole = True

    def close(self) -> None:
        self.cut()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                try:
                    far = socket.create_connection(("127.0.0.1", self.target))
                except OSError:
                    near.close()
                    continue
                with self._lock:
                    if not self._whole:
                        near.close()
                        far.close()
                        continue
                    self._open |= {near, far}
                for source, sink in ((near, far), (far, near)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(1 << 16):
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            with self._lock:
                if end in self._open:
                    self._open.discard(end)
                    end.close()


class RunnerProcess:
    """`everyagent runner` with its key in the environment."""

    name = "far"

    def __init__(
        self,
        folder: Path,
        url: str,
        key: str,
        *flags: str,
        work: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.folder = folder
        self.work = work or folder / "work"
        self.work.mkdir(parents=True, exist_ok=True)
        folder.mkdir(exist_ok=True)
        self._environment = dict(environment or {})
        self._words = ["runner", "--connect", url, "--data-dir", str(folder / "data"), "--directory", str(self.work)]
        self._words += flags
        self._key = key
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with (self.folder / "runner.out").open("ab") as printed:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "everyagent", *self._words],
                stdout=printed,
                stderr=printed,
                env={**os.environ, **self._environment, "EVERYAGENT_RUNNER_KEY": self._key},
            )

    @property
    def pid(self) -> int:
        assert self.process
        return self.process.pid

    def kill(self) -> None:
        assert self.process
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def stop(self) -> int:
        assert self.process
        if self.process.poll() is None:
            self.process.terminate()
        return self.process.wait(LIMIT_SECONDS)

    def output(self) -> str:
        return (self.folder / "runner.out").read_text(errors="replace")


class DaemonWithRunner(DaemonProcess):
    """A daemon with a runner on the same machine, in the same environment, for suites that run over both.

    It stays on its port when it is started again.
    """

    runner: RunnerProcess

    def start(self, *, port: int = 0) -> float:
        again = bool(self.url)
        seconds = super().start(port=port or (self.port if again else 0))
        if not again:
            key = httpx2.post(
                f"{self.url}/v1/runner-keys", json={"name": RunnerProcess.name}, headers=self.headers, verify=NO_TLS
            )
            self.runner = RunnerProcess(
                self.data_dir.with_name("runner"),
                self.url,
                key.json()["secret"],
                *(["--isolation", "none"] if "none" in self._flags else []),
                work=Path("/"),
                environment=self.environment,
            )
            self.runner.start()
        wait_until(self.connected, self.runner.output)
        return seconds

    def connected(self) -> bool:
        found = httpx2.get(f"{self.url}/v1/runners", headers=self.headers, verify=NO_TLS).json()["runners"]
        return any(each["connected"] for each in found)


class Stage:
    """A daemon with a runner `far` that is connected over a link."""

    def __init__(
        self,
        folder: Path,
        *flags: str,
        runner_flags: tuple[str, ...] = (),
        lease: str = "300",
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.link = Link()
        self.daemon = DaemonProcess(folder / "daemon", "--runner-lease", lease, *flags, environment=environment)
        self.daemon.start()
        self.link.target = self.daemon.port
        self.http = httpx2.Client(headers=self.daemon.headers, verify=NO_TLS, timeout=LIMIT_SECONDS)
        self.key = self.post("/v1/runner-keys", {"name": RunnerProcess.name}).json()["secret"]
        self.runner = RunnerProcess(folder / "runner", self.link.url, self.key, *runner_flags, environment=environment)
        self.runner.start()
        self.until_connected()

    def restart_daemon(self) -> None:
        self.daemon.start(port=self.daemon.port)

    def get(self, path: str) -> httpx2.Response:
        return self.http.get(self.daemon.url + path)

    def post(self, path: str, body: object = None) -> httpx2.Response:
        response = self.http.post(self.daemon.url + path, json=body if body is not None else {})
        assert response.is_success, response.text
        return response

    def connected(self) -> bool:
        return any(each["connected"] for each in self.get("/v1/runners").json()["runners"])

    def until_connected(self) -> None:
        wait_until(self.connected, self.runner.output)

    def create(self, session_id: str, **fields: object) -> None:
        self.post(f"/v1/sessions/{session_id}", {"agent": "mock", "runner": "far", **fields})

    def send(self, session_id: str, text: str) -> None:
        self.post(f"/v1/sessions/{session_id}/messages", {"message": text})

    def events(self, session_id: str) -> list[Event]:
        found: list[Event] = []
        while True:
            answer = self.get(f"/v1/sessions/{session_id}/events?offset={len(found)}&limit=1000")
            page = msgspec.json.decode(answer.content, type=_Page).events
            found += [decode_event(bytes(body)) for body in page]  # pyright: ignore[reportAssignmentType]
            if len(page) < 1000:
                return found

    def types(self, session_id: str) -> list[str]:
        return [event.type for event in self.events(session_id)]

    def until(self, session_id: str, kind: str, number: int = 1) -> list[Event]:
        """The events, when there are `number` of a kind."""

        def enough() -> list[Event] | None:
            found = self.events(session_id)
            return found if sum(event.type == kind for event in found) >= number else None

        return wait_until(enough, lambda: (self.types(session_id), self.runner.output(), self.daemon.output()))

    def until_agent(self, session_id: str, number: int = 4) -> int:
        """Wait for so many events of the agent itself; returns how many events there are."""

        def enough() -> int:
            found = self.events(session_id)
            return len(found) if sum(event.source == "agent" for event in found) >= number else 0

        return wait_until(enough, lambda: (self.types(session_id), self.runner.output(), self.daemon.output()))

    def info(self, session_id: str) -> dict[str, object]:
        return self.get(f"/v1/sessions/{session_id}").json()

    def check(self, session_id: str) -> list[Event]:
        """The events, which must keep every rule."""
        found = self.events(session_id)
        assert check(found) == []
        return found

    def close(self) -> None:
        self.runner.stop()
        self.daemon.stop()
        self.link.close()
        self.http.close()


@contextmanager
def staged(
    folder: Path,
    *flags: str,
    runner_flags: tuple[str, ...] = (),
    lease: str = "300",
    environment: Mapping[str, str] | None = None,
) -> Generator[Stage]:
    stage = Stage(folder, *flags, runner_flags=runner_flags, lease=lease, environment=environment)
    try:
        yield stage
    finally:
        stage.close()
