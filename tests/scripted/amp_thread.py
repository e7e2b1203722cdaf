"""A thread on a scripted Amp server: its agent runs here, the program on the other side carries out its tools."""

import queue
import threading
import time
from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tests.scripted.scripted_turns import Call, Reply, Script, amp_id
from tests.scripted.websocket import WebSocket

#: Whatever is waited for, a reply goes on after this: a test that forgot it fails and does not hang.
WAIT_LIMIT_SECONDS = 60.0
_TICK = 0.01

Json: TypeAlias = dict[str, object]
Run: TypeAlias = Json | Raw


class Named(Struct, frozen=True):
    name: str


class Params(Struct, frozen=True):
    """Of all that the program tells its server, as far as it is read here."""

    clientId: str = ""
    tools: list[Named] = []
    version: int = 0
    content: Raw = Raw(b"[]")
    messageId: str = ""
    agentMode: str | None = None
    steer: bool = False
    toolCallId: str = ""
    run: Raw = Raw(b"{}")


class Told(Struct, frozen=True):
    method: str = ""
    id: Raw | UnsetType = UNSET
    params: Params = Params()


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """As the server keeps it."""

    role: str
    content: list[Json] | Raw
    messageId: str
    threadId: str
    agentMode: str
    state: Json | None = None
    usage: Json | None = None


_told = msgspec.json.Decoder(Told)
_encoder = msgspec.json.Encoder()


class AmpThread:
    """`said` is every message of it, as the server keeps them; `errands` what came of its sub-agents' calls."""

    def __init__(self, id: str, mode: str, script: Script) -> None:
        self.id = id
        self.mode = mode
        self.archived = False
        self.said: list[Message] = []
        self.errands: list[Run] = []
        self.version = 0
        self._script = script
        self._lock = threading.RLock()
        self._sockets: list[WebSocket] = []
        self._executor: WebSocket | None = None
        self._executor_id = ""
        self._state: Json = {"state": "idle", "agentMode": mode}
        self._told: list[str] = []  # what a client that comes back has to hear again
        self._tools: list[str] = []
        self._ready = threading.Event()
        self._inbox: list[Params] = []
        self._runs: dict[str, queue.SimpleQueue[Run]] = {}
        self._working = False
        self._cancelled = threading.Event()

    @property
    def waiting(self) -> str:
        """What was sent and not taken up yet."""
        with self._lock:
            return "".join(bytes(message.content).decode() for message in self._inbox)

    def write(self, words: str) -> None:
        """As somebody else would, on Amp's own pages."""
        content = _encoder.encode([{"type": "text", "text": words}])
        self._take(Params(content=Raw(content), messageId=amp_id("M")))

    # -- the program's side -----------------------------------------------------------------------------------------

    def serve(self, socket: WebSocket) -> None:
        """Until it hangs up. A client is ready only when it has heard something, so it hears the state."""
        with self._lock:
            self._sockets.append(socket)
        self._tell(socket, "agent_state", self._state)
        while (text := socket.receive()) is not None:
            if text == "ping":
                socket.send("pong")
            else:
                self._hear(socket, _told.decode(text))
        with self._lock:
            self._sockets.remove(socket)
            if self._executor is socket:
                self._executor = None
                self._ready.clear()

    def hang_up(self) -> None:
        with self._lock:
            sockets = list(self._sockets)
        for socket in sockets:
            socket.close(1011)

    def _hear(self, socket: WebSocket, told: Told) -> None:
        params = told.params
        if told.id is not UNSET:
            result = {"replayThroughSeq": self.version} if told.method == "client_resume" else {}
            socket.send(_encoder.encode({"jsonrpc": "2.0", "id": told.id, "result": result}).decode())
        match told.method:
            case "executor_connect":
                self._executor = socket
                if params.clientId != self._executor_id:
                    self._executor_id = params.clientId
                    self._give_up_tools("the client that ran it is gone")
                who: Json = {"executorId": params.clientId, "registeredToolCount": 0, "guidanceInventory": []}
                self._tell(socket, "executor_connected", who)
            case "executor_tools_register":
                self._tools = [tool.name for tool in params.tools]
            case "executor_tools_bootstrap_complete":
                self._ready.set()
            case "client_resume":
                self._resume(socket, params.version)
            case "client_append_user_msg":
                self._take(params)
            case "executor_tool_result":
                self._tell(socket, "executor_tool_result_ack", {"toolCallId": params.toolCallId})
                self._returned(params.toolCallId, params.run)
            case "client_cancel" | "client_cancel_agent_loop":
                self._cancel()
            case _:
                return

    def _resume(self, socket: WebSocket, version: int) -> None:
        with self._lock:
            self._tell(socket, "agent_state", self._state)
            for told in self._told[version:]:
                socket.send(told)

    def _take(self, message: Params) -> None:
        with self._lock:
            self._inbox.insert(0 if message.steer else len(self._inbox), message)
            if not self._working:
                self._working = True
                threading.Thread(target=self._work, daemon=True).start()

    def _returned(self, call: str, run: Run) -> None:
        waiting = self._runs.pop(call, None)
        if waiting:
            waiting.put(run)

    def _cancel(self) -> None:
        with self._lock:
            self._cancelled.set()
            self._inbox.clear()
        self._give_up_tools("user:cancelled")

    def _give_up_tools(self, why: str) -> None:
        for call in list(self._runs):
            self._returned(call, {"status": "cancelled", "reason": why})

    # -- the agent's side -------------------------------------------------------------------------------------------

    def _work(self) -> None:
        self._ready.wait(WAIT_LIMIT_SECONDS)
        self._cancelled.clear()
        while self._has_work() and self._infer(self._script.take(self._news())):
            continue
        with self._lock:
            self._working = False

    def _has_work(self) -> bool:
        """The next message of the user's is taken in, if there is one; else a tool may have had the last word."""
        with self._lock:
            message = self._inbox.pop(0) if self._inbox else None
            if message is None and (not self.said or self.said[-1].role != "user"):
                self._working = False
                self._be("idle")
                return False
        if message:
            self.mode = message.agentMode or self.mode
            self._say("user", message.content, message.messageId)
        return True

    def _infer(self, reply: Reply) -> bool:
        """One message of the agent's, and the tools it calls. False: the turn is over, and how it ended was told."""
        id = amp_id("M")
        self._be("working", id)
        if reply.retries:
            soon: Json = {"retryAt": int(time.time() * 1000) + 50, "attempt": 1, "maxAttempts": 5, "reason": {}}
            self._tell_all("retry_scheduled", soon)
            self._tell_all("retry_started", {})
        if reply.failure is not None:
            self._tell_kept("error_set", {"error": {"message": reply.failure}})
            self._be("error")
            return False
        self._tell_all("inference_tools", {"messageId": id, "agentMode": self.mode, "tools": self._tools})
        self._be("streaming", id)
        if reply.held:
            self._wait(reply.release)
        if reply.drops:
            self._drop()
        if reply.aside:
            aside = self._message("assistant", [{"type": "text", "text": reply.aside}], amp_id("M"), "complete")
            self._tell_kept("message_added", {"message": aside, "parentToolUseId": amp_id("TU")})
        if reply.errand:
            self._send_on(reply.errand, id)
        blocks = reply.blocks
        cut = reply.cut_short or self._cancelled.is_set()
        self._say("assistant", blocks, id, "cancelled" if cut else "complete")
        if cut:
            self._tell_kept("cancelled", {"messageId": id})
            self._be("idle")
            return False
        uses = [block for block in blocks if block["type"] == "tool_use"]
        return not uses or self._use_tools(id, uses)

    def _send_on(self, errand: Call, message: str) -> None:
        """A sub-agent's call: the program carries it out, and prints nothing of it."""
        parent, call = amp_id("TU"), amp_id("TU")
        use: Json = {"type": "tool_use", "id": call, "name": errand.tool, "input": dict(errand.input), "complete": True}
        told = self._message("assistant", [use], amp_id("M"), "complete")
        self._tell_kept("message_added", {"message": told, "parentToolUseId": parent})
        results = self._runs[call] = queue.SimpleQueue()
        lease: Json = {"toolCallId": call, "toolName": errand.tool, "args": use["input"], "messageId": message}
        if self._executor:
            self._tell(self._executor, "tool_lease", {**lease, "parentToolCallId": parent})
        try:
            self.errands.append(results.get(timeout=WAIT_LIMIT_SECONDS))
        except queue.Empty:
            return

    def _use_tools(self, id: str, uses: list[Json]) -> bool:
        self._be("running_tools", id)
        waiting: dict[str, queue.SimpleQueue[Run]] = {}
        for use in uses:
            call = str(use["id"])
            waiting[call] = self._runs[call] = queue.SimpleQueue()
            lease: Json = {"toolCallId": call, "toolName": use["name"], "args": use["input"], "messageId": id}
            if self._executor:
                self._tell(self._executor, "tool_lease", lease)
        try:
            runs = {call: results.get(timeout=WAIT_LIMIT_SECONDS) for call, results in waiting.items()}
        except queue.Empty:
            return False
        results: list[Json] = [{"type": "tool_result", "toolUseID": call, "run": run} for call, run in runs.items()]
        self._say("user", results, amp_id("M"))
        if self._cancelled.is_set():
            self._be("idle")
            return False
        return True

    def _wait(self, release: threading.Event) -> None:
        deadline = time.monotonic() + WAIT_LIMIT_SECONDS
        while not release.wait(_TICK) and not self._cancelled.is_set() and time.monotonic() < deadline:
            continue

    def _drop(self) -> None:
        """Cut the connection, and go on when the program is back."""
        self._ready.clear()
        self.hang_up()
        self._ready.wait(WAIT_LIMIT_SECONDS)

    def _news(self) -> str:
        """All that was said since the agent's last message."""
        since: list[str] = []
        for message in reversed(self.said):
            if message.role == "assistant":
                break
            since.append(_encoder.encode(message.content).decode())
        return "\n".join(reversed(since))

    # -- telling ----------------------------------------------------------------------------------------------------

    def _be(self, state: str, message: str | None = None) -> None:
        """A client that comes back must hear which message is being made, else it never takes it."""
        self._state = {"state": state, "agentMode": self.mode, **({"messageId": message} if message else {})}
        self._tell_all("agent_state", self._state)

    def _say(self, role: str, content: list[Json] | Raw, id: str, state: str | None = None) -> None:
        message = self._message(role, content, id, state)
        self.said.append(message)
        self._tell_kept("message_added", {"message": message})

    def _message(self, role: str, content: list[Json] | Raw, id: str, state: str | None) -> Message:
        return Message(
            role=role,
            content=content,
            messageId=id,
            threadId=self.id,
            agentMode=self.mode,
            state={"type": state} if state else None,
            usage=USAGE if state else None,
        )

    def _tell_kept(self, method: str, params: Json) -> None:
        with self._lock:
            self.version += 1
            frame = _frame(method, {**params, "seq": self.version})
            self._told.append(frame)
            for socket in self._sockets:
                socket.send(frame)

    def _tell_all(self, method: str, params: Json) -> None:
        with self._lock:
            for socket in self._sockets:
                self._tell(socket, method, params)

    def _tell(self, socket: WebSocket, method: str, params: Json) -> None:
        socket.send(_frame(method, params))


def _frame(method: str, params: Mapping[str, object]) -> str:
    return _encoder.encode({"jsonrpc": "2.0", "method": method, "params": params}).decode()


USAGE: Json = {
    "model": "a-scripted-model",
    "maxInputTokens": 200_000,
    "inputTokens": 100,
    "outputTokens": 10,
    "cacheCreationInputTokens": 0,
    "cacheReadInputTokens": 50,
    "totalInputTokens": 150,
}
