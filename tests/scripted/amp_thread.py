"""A thread on the scripted Amp server. The agent runs here; Amp's program executes its tools."""

import queue
import threading
import time
from collections.abc import Mapping
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from tests.scripted.amp_replies import AmpRequest, AmpScript, Call, Reply, amp_id
from tests.scripted.script import since_last
from tests.scripted.websocket import WebSocket

#: The limit on each wait, so that a test that forgot to release a reply fails and does not hang.
WAIT_LIMIT_SECONDS = 180.0
_TICK = 0.01

Json: TypeAlias = dict[str, object]
Run: TypeAlias = Json | Raw


class Named(Struct, frozen=True):
    name: str


class Params(Struct, frozen=True):
    """Parameters of a message of the program; only those that the server reads."""

    clientId: str = ""
    tools: list[Named] = []
    version: int = 0
    content: Raw = Raw(b"[]")
    messageId: str = ""
    agentMode: str | None = None
    steer: bool = False
    toolCallId: str = ""
    run: Raw = Raw(b"{}")


class ProgramMessage(Struct, frozen=True):
    method: str = ""
    id: Raw | UnsetType = UNSET
    params: Params = Params()


class Message(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A message in the form of the server's store."""

    role: str
    content: list[Json] | Raw
    messageId: str
    threadId: str
    agentMode: str
    state: Json | None = None
    usage: Json | None = None


_messages = msgspec.json.Decoder(ProgramMessage)
_encoder = msgspec.json.Encoder()


class AmpThread:
    """`messages` are all of the thread's; `subagent_results` are the results of its sub-agents' tool calls."""

    def __init__(self, id: str, mode: str, script: AmpScript) -> None:
        self.id = id
        self.mode = mode
        self.archived = False
        self.messages: list[Message] = []
        self.subagent_results: list[Run] = []
        self.version = 0
        self._script = script
        self._lock = threading.RLock()
        self._sockets: list[WebSocket] = []
        self._executor: WebSocket | None = None
        self._executor_id = ""
        self._state: Json = {"state": "idle", "agentMode": mode}
        self._sent: list[str] = []  # frames that a client gets again when it reconnects
        self._tools: list[str] = []
        self._ready = threading.Event()
        self._inbox: list[Params] = []
        self._taken: set[str] = set()
        self._runs: dict[str, queue.SimpleQueue[Run]] = {}
        self._working = False
        self._cancelled = threading.Event()

    @property
    def waiting(self) -> str:
        """The content of messages that no inference has read yet."""
        with self._lock:
            return "".join(bytes(message.content).decode() for message in self._inbox)

    def write(self, text: str) -> None:
        """Adds a user message that was not sent by the program, as on Amp's web pages."""
        content = _encoder.encode([{"type": "text", "text": text}])
        self._take(Params(content=Raw(content), messageId=amp_id("M")))

    # -- messages of the program -------------------------------------------------------------------------------------

    def serve(self, socket: WebSocket) -> None:
        """Serves a connection to its end. A client is ready only after a first frame, so the state is sent at once."""
        with self._lock:
            self._sockets.append(socket)
        self._send(socket, "agent_state", self._state)
        while (text := socket.receive()) is not None:
            if text == "ping":
                socket.send("pong")
            else:
                self._receive(socket, _messages.decode(text))
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

    def _receive(self, socket: WebSocket, message: ProgramMessage) -> None:
        params = message.params
        if message.id is not UNSET:
            result = {"replayThroughSeq": self.version} if message.method == "client_resume" else {}
            socket.send(_encoder.encode({"jsonrpc": "2.0", "id": message.id, "result": result}).decode())
        match message.method:
            case "executor_connect":
                self._executor = socket
                if params.clientId != self._executor_id:
                    self._executor_id = params.clientId
                    self._give_up_tools("the client that ran it is gone")
                who: Json = {"executorId": params.clientId, "registeredToolCount": 0, "guidanceInventory": []}
                self._send(socket, "executor_connected", who)
            case "executor_tools_register":
                self._tools = [tool.name for tool in params.tools]
            case "executor_tools_bootstrap_complete":
                self._ready.set()
            case "client_resume":
                self._resume(socket, params.version)
            case "client_append_user_msg":
                self._take(params)
            case "executor_tool_result":
                self._send(socket, "executor_tool_result_ack", {"toolCallId": params.toolCallId})
                self._returned(params.toolCallId, params.run)
            case "client_cancel" | "client_cancel_agent_loop":
                self._cancel()
            case _:
                return

    def _resume(self, socket: WebSocket, version: int) -> None:
        with self._lock:
            self._send(socket, "agent_state", self._state)
            for frame in self._sent[version:]:
                socket.send(frame)

    def _take(self, message: Params) -> None:
        """A message is taken once: the program sends it again if the connection broke before it was acknowledged."""
        with self._lock:
            if message.messageId in self._taken:
                return
            self._taken.update({message.messageId} - {""})
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
        while self._has_work() and self._infer(self._script.take(self._request())):
            continue
        with self._lock:
            self._working = False

    def _has_work(self) -> bool:
        """Takes the user's next message, if any. Without one there is work only after a tool result."""
        with self._lock:
            message = self._inbox.pop(0) if self._inbox else None
            if message is None and (not self.messages or self.messages[-1].role != "user"):
                self._working = False
                self._set_state("idle")
                return False
        if message:
            self.mode = message.agentMode or self.mode
            self._add("user", message.content, message.messageId)
        return True

    def _infer(self, reply: Reply) -> bool:
        """Sends one message of the agent and runs its tools. Returns False when the turn is over."""
        id = amp_id("M")
        self._set_state("working", id)
        if reply.retries:
            soon: Json = {"retryAt": int(time.time() * 1000) + 50, "attempt": 1, "maxAttempts": 5, "reason": {}}
            self._broadcast("retry_scheduled", soon)
            self._broadcast("retry_started", {})
        if reply.failure is not None:
            self._send_numbered("error_set", {"error": {"message": reply.failure}})
            self._set_state("error")
            return False
        self._broadcast("inference_tools", {"messageId": id, "agentMode": self.mode, "tools": self._tools})
        self._set_state("streaming", id)
        if reply.held:
            self._wait(reply.release)
        if reply.drops:
            self._drop()
        if reply.subagent_text:
            text: list[Json] = [{"type": "text", "text": reply.subagent_text}]
            message = self._message("assistant", text, amp_id("M"), "complete")
            self._send_numbered("message_added", {"message": message, "parentToolUseId": amp_id("TU")})
        if reply.subagent_call:
            self._run_subagent_call(reply.subagent_call, id)
        blocks = reply.blocks
        cut = reply.cut_short or self._cancelled.is_set()
        self._add("assistant", blocks, id, "cancelled" if cut else "complete")
        if cut:
            self._send_numbered("cancelled", {"messageId": id})
            self._set_state("idle")
            return False
        uses = [block for block in blocks if block["type"] == "tool_use"]
        return not uses or self._use_tools(id, uses)

    def _run_subagent_call(self, wanted: Call, message: str) -> None:
        """The program executes a sub-agent's call but prints nothing about it."""
        parent, call = amp_id("TU"), amp_id("TU")
        use: Json = {"type": "tool_use", "id": call, "name": wanted.tool, "input": dict(wanted.input), "complete": True}
        added = self._message("assistant", [use], amp_id("M"), "complete")
        self._send_numbered("message_added", {"message": added, "parentToolUseId": parent})
        results = self._runs[call] = queue.SimpleQueue()
        lease: Json = {"toolCallId": call, "toolName": wanted.tool, "args": use["input"], "messageId": message}
        if self._executor:
            self._send(self._executor, "tool_lease", {**lease, "parentToolCallId": parent})
        try:
            self.subagent_results.append(results.get(timeout=WAIT_LIMIT_SECONDS))
        except queue.Empty:
            return

    def _use_tools(self, id: str, uses: list[Json]) -> bool:
        self._set_state("running_tools", id)
        waiting: dict[str, queue.SimpleQueue[Run]] = {}
        for use in uses:
            call = str(use["id"])
            waiting[call] = self._runs[call] = queue.SimpleQueue()
            lease: Json = {"toolCallId": call, "toolName": use["name"], "args": use["input"], "messageId": id}
            if self._executor:
                self._send(self._executor, "tool_lease", lease)
        try:
            runs = {call: results.get(timeout=WAIT_LIMIT_SECONDS) for call, results in waiting.items()}
        except queue.Empty:
            return False
        results: list[Json] = [{"type": "tool_result", "toolUseID": call, "run": run} for call, run in runs.items()]
        self._add("user", results, amp_id("M"))
        if self._cancelled.is_set():
            self._set_state("idle")
            return False
        return True

    def _wait(self, release: threading.Event) -> None:
        deadline = time.monotonic() + WAIT_LIMIT_SECONDS
        while not release.wait(_TICK) and not self._cancelled.is_set() and time.monotonic() < deadline:
            continue

    def _drop(self) -> None:
        """Cuts the connection and waits until the program has reconnected."""
        self._ready.clear()
        self.hang_up()
        self._ready.wait(WAIT_LIMIT_SECONDS)

    def _request(self) -> AmpRequest:
        new = since_last(self.messages, lambda message: message.role == "assistant")
        return AmpRequest("\n".join(_encoder.encode(message.content).decode() for message in new))

    # -- frames to the program --------------------------------------------------------------------------------------

    def _set_state(self, state: str, message: str | None = None) -> None:
        """A client that reconnects ignores a message unless the state names it."""
        self._state = {"state": state, "agentMode": self.mode, **({"messageId": message} if message else {})}
        self._broadcast("agent_state", self._state)

    def _add(self, role: str, content: list[Json] | Raw, id: str, state: str | None = None) -> None:
        message = self._message(role, content, id, state)
        self.messages.append(message)
        self._send_numbered("message_added", {"message": message})

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

    def _send_numbered(self, method: str, params: Json) -> None:
        with self._lock:
            self.version += 1
            frame = _frame(method, {**params, "seq": self.version})
            self._sent.append(frame)
            for socket in self._sockets:
                socket.send(frame)

    def _broadcast(self, method: str, params: Json) -> None:
        with self._lock:
            for socket in self._sockets:
                self._send(socket, method, params)

    def _send(self, socket: WebSocket, method: str, params: Json) -> None:
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
