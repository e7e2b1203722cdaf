"""Writes native frames to stdout: one JSON object a line, from any thread."""

import json
import os
import threading


class FrameWriter:
    """Writes whole lines; a full pipe blocks the writer."""

    def __init__(self, fd: int = 1) -> None:
        self._fd = fd
        self._lock = threading.Lock()

    def say(self, type: str, **fields: object) -> None:
        frame = {"type": type, **{name: value for name, value in fields.items() if value is not None}}
        self.write(json.dumps(frame, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n")

    def write(self, lines: bytes) -> None:
        rest = memoryview(lines)
        with self._lock:
            while rest:
                rest = rest[os.write(self._fd, rest) :]
