"""A stand-in for OpenCode's server, run as the program: it answers every prompt with one message.

`[ask]` in a prompt asks for a permission first, `[early]` for that of a call which never follows, `[hook]` asks for a
decision on a call as the daemon's plugin does, `[stall]` is idle without an end of the turn, `[drop]` ends the event
streams, `[hidden]` refuses to report the state of its sessions from then on, `[huge]` reports absurd usage. With
REFUSE in its environment it opens no session.
"""

import itertools
import json
import os
import queue
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar
from urllib.parse import parse_qs, unquote, urlsplit

from everyagent.agents import hook_client

MODEL = {"id": "model", "providerID": "provider"}
#: Paths that are answered with an object; all others with a list.
OBJECTS = ("/session/status", "/mcp", "/config", "/config/providers")


def installed(folder: Path) -> str:
    """The path of a program in `folder` that runs this file."""
    path = folder / "opencode"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{__file__}" "$@"\n')
    path.chmod(0o755)
    return str(path)


def hook(**message: object) -> bytes:
    address, token = os.environ["EVERYAGENT_HOOK_SOCKET"], os.environ["EVERYAGENT_HOOK_TOKEN"]
    return hook_client.ask(address, token, json.dumps(message).encode())


class Fake(BaseHTTPRequestHandler):
    streams: ClassVar[dict[str, list[queue.Queue[bytes]]]] = {}
    sessions: "ClassVar[itertools.count[int]]" = itertools.count(1)
    numbers: "ClassVar[itertools.count[int]]" = itertools.count(1)
    answered: ClassVar[threading.Event] = threading.Event()
    hidden: ClassVar[threading.Event] = threading.Event()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing is logged."""

    def do_GET(self) -> None:
        address = urlsplit(self.path)
        path = address.path
        if path == "/event":
            self._stream(parse_qs(address.query)["directory"][0])
        elif path.startswith("/session/ses_") and path.count("/") == 2:
            self._answer({"id": path.rpartition("/")[2], "model": MODEL})
        elif path == "/session/status" and self.hidden.is_set():
            self.send_error(500)
        else:
            self._answer({} if path in OBJECTS else [])

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.path == "/session" and "REFUSE" in os.environ:
            self.send_error(400)
            return
        self._answer({"id": f"ses_{os.getpid()}_{next(self.sessions)}", "model": MODEL})
        if self.path.endswith("/prompt_async"):
            session, directory = self.path.split("/")[2], unquote(self.headers["x-opencode-directory"])
            text = json.loads(body)["parts"][-1]["text"]
            if "[hidden]" in text:
                self.hidden.set()
            turn = Turn(session, self.streams[directory], self.answered)
            threading.Thread(target=turn.run, args=(next(self.numbers), text), daemon=True).start()
        elif self.path.startswith("/permission/"):
            self.answered.set()

    def _answer(self, value: object) -> None:
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, directory: str) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        events: queue.Queue[bytes] = queue.Queue()
        self.streams.setdefault(directory, []).append(events)
        events.put(b'{"type":"server.connected","properties":{}}')
        while event := events.get():
            self.wfile.write(b"data: " + event + b"\n\n")
            self.wfile.flush()
        self.close_connection = True


class Turn:
    """One turn of a session, written to the event streams of its directory."""

    def __init__(self, session: str, streams: list[queue.Queue[bytes]], answered: threading.Event) -> None:
        self.session = session
        self.streams = streams
        self.answered = answered

    def _emit(self, type: str, **properties: object) -> None:
        event = json.dumps({"type": type, "properties": {"sessionID": self.session, **properties}}).encode()
        for stream in self.streams:
            stream.put(event)

    def run(self, number: int, text: str) -> None:
        created = 4 * 10**12 + number
        message = {"id": f"msg_{number}", "sessionID": self.session, "role": "assistant", "time": {"created": created}}
        part = {"id": f"prt_{number}", "messageID": message["id"], "sessionID": self.session}
        self._emit("session.status", status={"type": "busy"})
        if "[drop]" in text:
            for stream in self.streams:
                stream.put(b"")
            self.streams.clear()
            return
        if "[ask]" in text or "[early]" in text:
            call = {"tool": {"messageID": message["id"], "callID": f"call_{number}"}} if "[early]" in text else {}
            patterns = ["*"] if call else ["ls"]
            self._emit("permission.asked", id=f"per_{number}", permission="bash", patterns=patterns, **call)
            self.answered.wait()
            self.answered.clear()
        self._emit("message.updated", info=message)
        if "[stall]" in text:
            self._emit("session.status", status={"type": "idle"})
            return
        if "[hook]" in text:
            call = {"tool": "bash", "callID": f"call_{number}"}
            tool = {**part, **call, "id": f"prt_{number}_tool", "type": "tool"}
            state = {"status": "running", "input": {"command": "ls"}, "time": {"start": 1}}
            self._emit("message.part.updated", part={**tool, "state": state})
            verdict = hook(wish={**call, "sessionID": self.session, "args": {"command": "ls"}})
            status = {"status": "completed"} if verdict == b"allow" else {"status": "error", "error": verdict.decode()}
            ended = {**state, **status, "output": "a", "time": {"start": 1, "end": 2}}
            self._emit("message.part.updated", part={**tool, "state": ended})
        self._emit("message.part.updated", part={**part, "type": "text", "time": {"start": 1}})
        self._emit(
            "message.part.delta", messageID=message["id"], partID=part["id"], field="text", delta=f"Reply {number}"
        )
        whole = {**part, "type": "text", "text": f"Reply {number}", "time": {"start": 1, "end": 2}}
        self._emit("message.part.updated", part=whole)
        count = int("9" * 4300) if "[huge]" in text else 5
        step = {**part, "id": f"prt_{number}_step", "type": "step-finish", "tokens": {"input": count, "output": count}}
        self._emit("message.part.updated", part=step)
        completed = {**message, "time": {"created": created, "completed": created + 1}, "finish": "stop"}
        self._emit("message.updated", info=completed)
        self._emit("session.status", status={"type": "idle"})
        self._emit("session.idle")


if __name__ == "__main__":
    sys.set_int_max_str_digits(0)
    if "--version" in sys.argv:
        sys.exit("1.18.33")
    port = int(sys.argv[sys.argv.index("--port") + 1])
    server = ThreadingHTTPServer(("127.0.0.1", port), Fake)
    server.daemon_threads = True
    if "EVERYAGENT_HOOK_SOCKET" in os.environ:
        hook(hello=os.environ["EVERYAGENT_SERVER_NAME"])
    sys.stdout.write(f"opencode server listening on http://127.0.0.1:{port}\n")
    sys.stdout.flush()
    server.serve_forever()
