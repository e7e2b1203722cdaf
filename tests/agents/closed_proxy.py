"""A proxy on loopback that refuses and counts every request."""

import socketserver
import threading
from types import TracebackType
from typing import Self


class ClosedProxy:
    """For a program that has its `environment`. `asked` is the first line of each request."""

    def __init__(self) -> None:
        asked = self.asked = list[str]()

        class Refuses(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                asked.append(self.rfile.readline(4096).decode(errors="replace").strip())
                self.wfile.write(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")

        self._server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Refuses)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    @property
    def environment(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self._server.server_address[1]}"
        names = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
        return {**dict.fromkeys(names, url), "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
