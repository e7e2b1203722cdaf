"""Decodes Claude Code's lines into drafts. No I/O; one decoder holds the state of one process's conversation."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias, TypeVar

import msgspec

from everyagent.agents import items
from everyagent.agents.adapter import DecodedFrame, Draft, Frame, NativeSession, Synthetic
from everyagent.agents.claude import asks, failures, notices, policies, turns, wire, wire_control
from everyagent.agents.claude.asks import Ask
from everyagent.agents.claude.messages import REMEMBERED, ClaudeMessages
from everyagent.agents.claude.modes import updated
from everyagent.agents.memory import remember
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.events import Error, TurnEnded, TurnStarted
from everyagent.model.parts import TextPart
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.runtime.framing import Line

F = TypeVar("F", bound=msgspec.Struct)
Handler: TypeAlias = Callable[["ClaudeDecoder", bytes], Sequence[Draft] | None]

LOCATION = "agents/claude/decode.py"
_HOT = b'{"type":"stream_event","event":{"type":"content_block_delta",'
_RESULT = b'{"type":"result",'
_INTERRUPTED = "[Request interrupted by user"

_heads = msgspec.json.Decoder(wire.ClaudeHead)
_assistants = msgspec.json.Decoder(wire.ClaudeAssistant)
_deltas = msgspec.json.Decoder(wire.StreamDelta)
_subtypes = msgspec.json.Decoder(wire_control.Subtype)
_tools = msgspec.json.Decoder(wire_control.CanUseTool)
_hooks = msgspec.json.Decoder(wire_control.HookCallback)
_forms = msgspec.json.Decoder(wire_control.ClaudeElicitation)
_receipts = msgspec.json.Decoder(wire_control.InterruptReceipt)
_offers = msgspec.json.Decoder(wire_control.OfferedCommands)
_stream_events = msgspec.json.Decoder(wire.StreamEvent)


class UnservedControlRequest(msgspec.Struct, frozen=True):
    """A request of the agent that the daemon does not serve. It is refused, so that the agent does not wait."""

    request_id: str
    subtype: str


class SettledRequest(msgspec.Struct, frozen=True):
    """A request of the agent that the session's policies answer."""

    request_id: str
    response: object


class LapsedAsk(msgspec.Struct, frozen=True):
    """A question whose turn ended before it was answered."""

    request_id: str
    ask: Ask


class ClaudeDecoder:
    """`effects` are carried out by the driver after each batch; it removes them.

    `mode` is the agent's permission mode, `prompt` the uuid of the message it works on. `tasks` are the running
    background tasks and sub-agents, by the key of the call that started them.
    """

    def __init__(self, mode: str = "default", policies: ToolPolicies = UNRESTRICTED) -> None:
        self.mode = mode
        self.policies = policies
        self.prompt: str | None = None
        self.asks: dict[str, Ask] = {}
        self.effects: list[wire_control.ControlReply | UnservedControlRequest | SettledRequest | LapsedAsk] = []
        self.history_lost = False
        self.tasks: dict[str, str] = {}
        self._messages = ClaudeMessages()
        self._session: str | None = None
        self._cost = 0.0
        self._failure_reported = False

    def decode(self, line: Line) -> DecodedFrame:
        """Never raises: a line that it does not understand becomes an `Unparsed`, with the line as its frame."""
        body = line.body
        if line.cut:
            return unparsed(body, f"a line of {line.cut} bytes was cut after {len(body)}", LOCATION)
        try:
            if not body.isascii():
                body.decode()  # msgspec does not look into what it skips
            hot = body.startswith(_HOT)
            drafts = self._messages.delta(_deltas.decode(body)) if hot else self._dispatch(body)
        except BROKEN as problem:
            return self._lost(unparsed(body, str(problem), LOCATION))
        except Exception as fault:  # noqa: BLE001 - one frame must not cost the agent
            return self._lost(undecodable(body, fault, LOCATION))
        if drafts is None:
            return unparsed(body, f"unknown frame {_name(body)!r}", LOCATION)
        return DecodedFrame(Frame("from_agent", body), drafts)

    def _lost(self, decoded: DecodedFrame) -> DecodedFrame:
        """A result that cannot be read ends its turn all the same: no other frame will."""
        if not decoded.frame.body.startswith(_RESULT):
            return decoded
        self.prompt = None
        return DecodedFrame(decoded.frame, (*decoded.drafts, *self._messages.end_all(), _unreadable()))

    def _dispatch(self, body: bytes) -> Sequence[Draft] | None:
        head = _heads.decode(body)
        name = f"{head.type}/{head.subtype}" if head.type == "system" else head.type
        handler = MAPPED.get(name)
        if handler:
            return handler(self, body)
        return () if name in IGNORED else None

    # -- messages -----------------------------------------------------------------------------------------

    def stream(self, body: bytes) -> Sequence[Draft] | None:
        frame = _stream_events.decode(body)
        if frame.event.type == "content_block_delta":
            return self._messages.delta(_deltas.decode(body))
        return self._messages.event(frame)

    def assistant(self, body: bytes) -> Sequence[Draft]:
        frame = _assistants.decode(body)
        if not frame.is_api_error_message:
            return self._messages.whole(frame, body)
        self._failure_reported = True
        return (failures.final(frame, _text(frame.message)),)

    def user(self, frame: wire.ClaudeUser) -> Sequence[Draft]:
        """Messages of the session are items already, so the agent's echo of them is ignored."""
        if frame.isReplay:
            return ()
        content = frame.message.content
        returned = [] if isinstance(content, str) else [block for block in content if block.type == "tool_result"]
        if returned:
            speaker, structured = frame.parent_tool_use_id, frame.tool_use_result
            return [draft for block in returned for draft in self._messages.returned(block, structured, speaker)]
        text = _text(frame.message)
        if not text or text.startswith(_INTERRUPTED):
            return ()
        part = TextPart(text=text)
        if frame.parent_tool_use_id:
            return items.whole(
                items.message(
                    frame.uuid,
                    native=frame.uuid,
                    subagent=self._messages.keys.latest(frame.parent_tool_use_id),
                    role="user",
                    content=[part],
                    status="completed",
                )
            )
        return items.whole(items.system(frame.uuid, part, native=frame.uuid))

    # -- turns ------------------------------------------------------------------------------------------------

    def init(self, frame: wire.ClaudeInit) -> Sequence[Draft]:
        """The start of a turn: of a prompt, or of the agent's own after a background task ended."""
        drafts: list[Draft] = [TurnStarted(turn_id="", input_item_ids=[])]
        if frame.session_id and frame.session_id != self._session:
            self._session = frame.session_id
            drafts.insert(0, NativeSession(frame.session_id))
        return [*drafts, *self._in_mode(frame.permissionMode)]

    def result(self, frame: wire.ClaudeResult) -> Sequence[Draft]:
        if turns.lost_history(frame):
            self.history_lost = True
            return ()
        drafts = list(self._messages.end_all())
        ended = turns.ended(frame, self._cost)
        if ended.stop_reason == "error" and not self._failure_reported:
            drafts.append(turns.error(frame))
        self._cost = max(self._cost, frame.total_cost_usd)
        self._failure_reported = False
        if frame.origin and self.prompt and self.prompt not in frame.user_message_uuids:
            return drafts  # the agent's own turn; the one we asked for comes next
        self.prompt = None
        self.effects += [LapsedAsk(key, ask) for key, ask in self.asks.items()]
        self.asks.clear()
        return [*drafts, ended]

    # -- control ----------------------------------------------------------------------------------------------

    def asked(self, frame: wire_control.ControlRequest) -> Sequence[Draft]:
        match _subtypes.decode(frame.request).subtype:
            case "can_use_tool":
                request = _tools.decode(frame.request)
                ruled = policies.verdict(self.policies, request.tool_name)
                if settled := policies.settled(ruled, request.tool_name, self.mode):
                    self.effects.append(SettledRequest(frame.request_id, settled))
                    return ()
                plan = self._messages.plans.get(request.tool_use_id)
                item = self._messages.keys.latest(request.tool_use_id)
                ask, drafted = asks.tool(frame.request_id, request, item, plan, each_time=ruled == "ask")
            case "elicitation":
                ask, drafted = asks.form(frame.request_id, _forms.decode(frame.request))
            case "hook_callback":
                call = _hooks.decode(frame.request).input
                ruled = policies.ruling(self.policies, call.tool_name, self.mode, call.tool_input)
                self.effects.append(SettledRequest(frame.request_id, ruled))
                return ()
            case subtype:
                self.effects.append(UnservedControlRequest(frame.request_id, subtype))
                return ()
        self.asks[frame.request_id] = ask
        return (Synthetic(drafted) if isinstance(ask, asks.WORDED) else drafted,)

    def withdrawn(self, frame: wire_control.ControlCancel) -> Sequence[Draft]:
        ask = self.asks.pop(frame.request_id, None)
        return (asks.withdrawn(frame.request_id, ask),) if ask else ()

    def replied(self, frame: wire_control.ControlResponse) -> Sequence[Draft]:
        """An interrupt may withdraw the prompt before its turn began; then no result reports the turn's end.

        The response to `initialize` lists the slash commands.
        """
        reply = frame.response
        self.effects.append(reply)
        if self.prompt and self.prompt in _receipts.decode(reply.response).cancelled:
            self.prompt = None
            return (TurnEnded(turn_id="", stop_reason="interrupted"),)
        commands = _offers.decode(reply.response).commands
        return notices.commands(reply.request_id, commands) if commands else ()

    # -- the agent's own state -------------------------------------------------------------------------------

    def status(self, frame: wire.ClaudeStatus) -> Sequence[Draft]:
        if frame.status == "compacting":
            return notices.compacting(frame)
        return self._in_mode(frame.permissionMode)

    def task_started(self, frame: wire.ClaudeTask) -> Sequence[Draft]:
        frame = self._keyed(frame)
        if frame.tool_use_id:
            remember(self.tasks, frame.tool_use_id, frame.task_id, REMEMBERED)
        return notices.task_started(frame)

    def task_progress(self, frame: wire.ClaudeTask) -> Sequence[Draft]:
        return notices.task_progress(self._keyed(frame))

    def task_ended(self, frame: wire.ClaudeTask) -> Sequence[Draft]:
        frame = self._keyed(frame)
        self.tasks.pop(frame.tool_use_id or "", None)
        return notices.task_ended(frame)

    def _keyed(self, frame: wire.ClaudeTask) -> wire.ClaudeTask:
        """The ask with the key of the call in place of its native id."""
        call = frame.tool_use_id
        return msgspec.structs.replace(frame, tool_use_id=self._messages.keys.latest(call)) if call else frame

    def _in_mode(self, mode: str | None) -> Sequence[Draft]:
        if mode is None or mode == self.mode:
            return ()
        self.mode = mode
        return (updated(mode),)


def _typed(shape: type[F], handle: Callable[[ClaudeDecoder, F], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(shape)
    return lambda self, body: handle(self, decoder.decode(body))


def _notice(shape: type[F], make: Callable[[F], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(shape)
    return lambda _, body: make(decoder.decode(body))


def _sentence(name: str) -> Handler:
    return _notice(wire.ClaudeNotice, partial(notices.sentence, name))


def _unreadable() -> TurnEnded:
    return TurnEnded(turn_id="", stop_reason="error", error="The agent's report of the turn's end could not be read.")


def _retry(frame: wire.ApiRetry) -> tuple[Error]:
    return (failures.retrying(frame),)


#: Every frame that becomes events. `docs/agents/claude.md` documents each.
MAPPED: dict[str, Handler] = {
    "stream_event": ClaudeDecoder.stream,
    "assistant": ClaudeDecoder.assistant,
    "user": _typed(wire.ClaudeUser, ClaudeDecoder.user),
    "result": _typed(wire.ClaudeResult, ClaudeDecoder.result),
    "control_request": _typed(wire_control.ControlRequest, ClaudeDecoder.asked),
    "control_cancel_request": _typed(wire_control.ControlCancel, ClaudeDecoder.withdrawn),
    "control_response": _typed(wire_control.ControlResponse, ClaudeDecoder.replied),
    "conversation_reset": _notice(wire.ConversationReset, notices.reset),
    "rate_limit_event": _notice(wire.RateLimit, notices.rate_limit),
    "auth_status": _notice(wire.AuthStatus, notices.auth_status),
    "tool_use_summary": _sentence("tool_use_summary"),
    "system/init": _typed(wire.ClaudeInit, ClaudeDecoder.init),
    "system/status": _typed(wire.ClaudeStatus, ClaudeDecoder.status),
    "system/api_retry": _notice(wire.ApiRetry, _retry),
    "system/compact_boundary": _notice(wire.CompactBoundary, notices.compacted),
    "system/permission_denied": _notice(wire.PermissionDenied, notices.denied),
    "system/task_started": _typed(wire.ClaudeTask, ClaudeDecoder.task_started),
    "system/task_progress": _typed(wire.ClaudeTask, ClaudeDecoder.task_progress),
    "system/task_notification": _typed(wire.ClaudeTask, ClaudeDecoder.task_ended),
    "system/hook_started": _notice(wire.ClaudeHook, notices.hook_started),
    "system/hook_response": _notice(wire.ClaudeHook, notices.hook_ended),
    "system/informational": _sentence("informational"),
    "system/notification": _sentence("notification"),
    "system/local_command_output": _sentence("local_command_output"),
    "system/model_fallback": _sentence("model_fallback"),
    "system/model_refusal_fallback": _sentence("model_fallback"),
    "system/model_refusal_no_fallback": _sentence("model_refusal"),
    "system/mirror_error": _sentence("mirror_error"),
    "system/session_writes_lost": _sentence("session_writes_lost"),
    "system/session_title_changed": _notice(wire.TitleChanged, notices.titled),
}

#: Known frames that hold nothing that another event does not have.
IGNORED: frozenset[str] = frozenset(
    {
        "keep_alive",
        "command_lifecycle",
        "tool_progress",
        "prompt_suggestion",
        "active_goal",
        "system/thinking_tokens",
        "system/background_tasks_changed",
        "system/task_updated",
        "system/session_state_changed",
        "system/control_request_progress",
        "system/hook_progress",
        "system/plugin_install",
        "system/worker_shutting_down",
        "system/commands_changed",
        "system/files_persisted",
        "system/memory_recall",
        "system/elicitation_complete",
    }
)


def _text(message: wire.ClaudeMessage) -> str:
    if isinstance(message.content, str):
        return message.content
    return "\n".join(block.text for block in message.content if block.type == "text")


def _name(body: bytes) -> str:
    head = _heads.decode(body)
    return f"{head.type}/{head.subtype}" if head.subtype else head.type
