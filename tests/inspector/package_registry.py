"""An npm registry on loopback that serves one package and pauses halfway through it."""

import base64
import hashlib
import json
import tarfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self
from urllib.parse import unquote

from everyagent.agents.packages import Program

PIECE = 1024 * 1024
#: A download that a failed test left paused goes on after this time.
LIMIT_SECONDS = 300.0


class PackageRegistry:
    """Sets `halfway` after half of the package and waits for `go_on`. While `away` it answers 503."""

    def __init__(self, program: Program, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self.tarball = Path()
        self.away = False
        self.halfway = threading.Event()
        self.go_on = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def serve(self, binary: Path) -> None:
        """Puts a program into the package, uncompressed, since compression takes longer than sending."""
        tarball = self._folder / f"{hashlib.sha256(str(binary).encode()).hexdigest()}.tgz"
        if not tarball.exists():
            with tarfile.open(tarball, "w:gz", compresslevel=0) as archive:
                archive.add(binary, self._program.member)
        self.tarball = tarball
        self.halfway.clear()

    def packument(self, name: str) -> bytes:
        with self.tarball.open("rb") as file:
            digest = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode()
        version = self._program.version
        dist = {"tarball": f"{self.url}{self.tarball.name}", "integrity": f"sha512-{digest}"}
        found = {"name": name, "version": version, "dist": dist}
        return json.dumps({"name": name, "dist-tags": {"latest": version}, "versions": {version: found}}).encode()


def _handler(registry: PackageRegistry) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if registry.away:
                self.send_error(503)
            elif self.path.endswith(".tgz"):
                self.send_tarball()
            else:
                self.send_package()

        def send_package(self) -> None:
            body = registry.packument(unquote(self.path.removeprefix("/")))
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def send_tarball(self) -> None:
            size = registry.tarball.stat().st_size
            self.send_response(200)
            self.send_header("content-length", str(size))
            self.end_headers()
            with registry.tarball.open("rb") as file:
                while piece := file.read(PIECE):
                    self.wfile.write(piece)
                    if file.tell() * 2 >= size and not registry.halfway.is_set():
                        registry.halfway.set()
                        registry.go_on.wait(LIMIT_SECONDS)

        def log_message(self, format: str, *args: object) -> None:
            """Logs nothing."""

    return Handler
