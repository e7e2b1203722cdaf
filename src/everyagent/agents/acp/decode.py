"""Decodes an ACP agent's lines into drafts. No I/O; one decoder holds the state of one process's conversation."""

import re
from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec
from msgspec import UNSET, Raw

from everyagent.agents.acp import answers, asks, failures, policies, turns, wire
from everyagent.agents.acp.asks import AcpAsk, AcpChoiceAsk, AcpFormAsk, AcpPermissionAsk, AcpQuestionsAsk
from everyagent.agents.acp.calls import AcpCalls, meta_of
from everyagent.agents.acp.effects import (
    CLIENT_METHODS,
    AcpEffect,
    AcpReply,
    ClientRequest,
    SettledAcpRequest,
    UnservedAcpRequest,
)
from everyagent.agents.acp.messages import AcpMessages
from everyagent.agents.acp.notices import AcpNotices
from everyagent.agents.acp.options import AcpOptions
from everyagent.agents.acp.profile import Profile
from everyagent.agents.acp.wire_meta import ChunkMeta
from everyagent.agents.adapter import DecodedFrame, Draft, Frame, NativeSession, Synthetic
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.events import ModelResponded, SessionUpdated, TurnEnded, TurnStarted
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.runtime.framing import Line

LOCATION = "agents/acp/decode.py"
#: A chunk of the agent's own words is one sentence; shorter chunks are the model's.
_OWN_WORDS = 16
_CHUNKS: dict[bytes, turns.ChunkKind] = {b"agent_message_chunk": "text", b"agent_thought_chunk": "reasoning"}

_heads = msgspec.json.Decoder(wire.AcpHead)
_chunks = msgspec.json.Decoder(wire.ChunkMessage)
_params = msgspec.json.Decoder(wire.UpdateParams)
_update_heads = msgspec.json.Decoder(wire.UpdateHead)
_chunk_updates = msgspec.json.Decoder(wire.ChunkUpdate)
_chunk_metas = msgspec.json.Decoder(ChunkMeta)
_calls = msgspec.json.Decoder(wire.AcpToolCall)
_plans = msgspec.json.Decoder(wire.AcpPlan)
_commands = msgspec.json.Decoder(wire.Commands)
_modes = msgspec.json.Decoder(wire.ModeUpdate)
_options = msgspec.json.Decoder(wire.ConfigOptions)
_infos = msgspec.json.Decoder(wire.AcpSessionInfo)
_contexts = msgspec.json.Decoder(wire.ContextUsage)
_permissions = msgspec.json.Decoder(wire.PermissionParams)
_withdrawals = msgspec.json.Decoder(wire.CancelRequest)
_elicitations = msgspec.json.Decoder(wire.AcpElicitation)
_opened = msgspec.json.Decoder(wire.SessionOpened)
_results = msgspec.json.Decoder(wire.PromptResult)


Handler: TypeAlias = Callable[["AcpDecoder", Raw], Sequence[Draft]]


class AcpDecoder:
    """`effects` are what the driver has to answer or settle after each batch; it removes them.

    * `sent` are the methods of our requests that wait for an answer, by id; `prompt` is the id of the running one.
    * `replaying`: the agent repeats the history of a loaded session, which the log has already.
    * `titled`: the session has a title, which the agent's does not replace.
    * `permitted` are the tools of which the user or a policy allowed a call in this turn.
    * `native` is the agent's own mode, `mode` the session's permission mode; `cancelled`: the turn is to stop.
    * `chosen` has the permission mode for which an own mode was last set: several may have the same one.
    """

    def __init__(
        self,
        profile: Profile,
        *,
        mode: str = "default",
        policies: ToolPolicies = UNRESTRICTED,
        servers: Sequence[str] = (),
        terminal: Callable[[str], tuple[str, int | None] | None] = lambda _: None,
    ) -> None:
        self.profile = profile
        self.mode = mode
        self.native: str | None = None
        self.chosen: dict[str, str] = {}
        self.policies = policies
        self.asks: dict[str, AcpAsk] = {}
        self.permitted: set[str] = set()
        self.effects: list[AcpEffect] = []
        self.sent: dict[int, str] = {}
        self.prompt: int | None = None
        self.command = False
        self.replaying = False
        self.cancelled = False
        self.updates = 0
        self.titled = False
        self._own_turn = False
        self._failure: str | None = None
        self._worked = False
        self._retries = 0
        self._retry = re.compile(profile.retry) if profile.retry else None
        self._messages = AcpMessages()
        self._calls = AcpCalls(profile, servers, terminal)
        self._notices = AcpNotices()
        self.options = AcpOptions(self._notices)
        self._usage = turns.TurnUsage(profile.usage)

    def prompted(self, id: int, text: str) -> None:
        """A prompt is sent: what follows belongs to its turn. A slash command may end without a word."""
        self.prompt = id
        self.command = text.lstrip().startswith("/")
        self.cancelled = self._worked = self._messages.spoken = False
        self._failure = None
        self._retries = 0
        self.permitted.clear()

    def decode(self, line: Line) -> DecodedFrame:
        """Never raises: a line that it does not understand becomes an `Unparsed`, with the line as its frame."""
        body = line.body
        if line.cut:
            return unparsed(body, f"a line of {line.cut} bytes was cut after {len(body)}", LOCATION)
        try:
            if not body.isascii():
                body.decode()  # msgspec does not look into what it skips
            drafts = self._dispatch(body)
        except BROKEN as problem:
            return self._lost(unparsed(body, str(problem), LOCATION))
        except Exception as fault:  # noqa: BLE001 - one frame must not cost the agent
            return self._lost(undecodable(body, fault, LOCATION))
        if isinstance(drafts, str):
            return unparsed(body, drafts, LOCATION)
        return DecodedFrame(Frame("from_agent", body), drafts)

    def _dispatch(self, body: bytes) -> Sequence[Draft] | str:
        """The drafts, or the reason why the message is not understood."""
        kind = _CHUNKS.get(wire.quick_name(body))
        if kind and self.prompt is not None and not self.replaying:
            return self._chunk(_chunks.decode(body).params.update, kind)
        head = _heads.decode(body)
        if head.method is None:
            return self._answered(head)
        if head.id is not UNSET:
            return self._asked(head.method, head.id, head.params)
        if head.method == "session/update":
            return self._updated(head.params)
        if head.method == "$/cancel_request":
            return self._withdrawn(_withdrawals.decode(head.params).request_id)
        if head.method == "_qwencode/end_turn" and self._own_turn:
            self._own_turn = False
            return [*self._close(), TurnEnded(turn_id="", stop_reason="end_turn")]
        if head.method.startswith(VENDORS):
            return self._notices.vendor(head.method, head.params)
        return f"unknown notification {head.method!r}"

    def _lost(self, decoded: DecodedFrame) -> DecodedFrame:
        """An answer to a prompt that cannot be read ends its turn all the same: no other frame will."""
        prompt = self.prompt
        if prompt is None or b'"id":%d,' % prompt not in decoded.frame.body.replace(b" ", b"")[:200]:
            return decoded
        if b'"method"' in decoded.frame.body[:200]:
            return decoded
        ended = TurnEnded(turn_id="", stop_reason="error", error="The agent's report of the turn's end is unreadable.")
        self.sent.pop(prompt, None)
        return DecodedFrame(decoded.frame, (*decoded.drafts, *self._close(), ended))

    # -- session/update -------------------------------------------------------------------------------------------

    def _updated(self, params: Raw) -> Sequence[Draft] | str:
        self.updates += 1
        update = _params.decode(params).update
        name = _update_heads.decode(update).session_update
        handler = UPDATES.get(name)
        if handler is None:
            self._worked = True
            return () if self.replaying else self._notices.unknown(name, update)
        return () if self.replaying and name in REPLAYED else handler(self, update)

    def message_chunk(self, raw: Raw) -> Sequence[Draft]:
        return self._chunk(_chunk_updates.decode(raw), "text")

    def thought_chunk(self, raw: Raw) -> Sequence[Draft]:
        return self._chunk(_chunk_updates.decode(raw), "reasoning")

    def _chunk(self, update: wire.ChunkUpdate, kind: turns.ChunkKind) -> Sequence[Draft]:
        text = update.content.text
        if not text and update.meta is not wire.NULL:
            return self._request_usage(update.meta)
        profile = self.profile
        if len(text) >= _OWN_WORDS:
            if profile.errors and text.startswith(profile.errors):
                self._failure = text
                return [*self._messages.end(), failures.failure(text, hint=profile.login_hint)]
            if self._retry and self._retry.match(text):
                self._retries += 1
                return [*self._messages.end(), failures.retrying(text, self._retries - 1)]
            if profile.notices and text.startswith(profile.notices):
                return [*self._messages.end(), *self._notices.sentence(text)]
        if self.prompt is None and not self._own_turn:
            return self._messages.late(update, kind)
        self._failure = None
        return self._messages.chunk(update, kind)

    def _request_usage(self, meta: Raw) -> Sequence[Draft]:
        try:
            reported = _chunk_metas.decode(meta).usage
        except msgspec.ValidationError:
            return ()
        if reported is None:
            return ()
        usage = turns.used(reported)
        self._usage.request(usage)
        return (ModelResponded(usage=usage),)

    def tool_call(self, raw: Raw) -> Sequence[Draft]:
        self._worked = True
        return [*self._messages.end(), *self._calls.announced(_calls.decode(raw))]

    def tool_call_update(self, raw: Raw) -> Sequence[Draft]:
        self._worked = True
        return [*self._messages.end(), *self._calls.updated(_calls.decode(raw))]

    def plan(self, raw: Raw) -> Sequence[Draft]:
        self._worked = True
        return self._notices.plan(_plans.decode(raw))

    def commands(self, raw: Raw) -> Sequence[Draft]:
        return self._notices.commands(_commands.decode(raw))

    def mode_changed(self, raw: Raw) -> Sequence[Draft]:
        return self._in_mode(_modes.decode(raw).current_mode_id)

    def options_changed(self, raw: Raw) -> Sequence[Draft]:
        options = _options.decode(raw).config_options
        mode = next((option.current_value for option in options if option.category == "mode"), None)
        moded = self._in_mode(mode) if isinstance(mode, str) else ()
        return [*moded, *self.options.changed(options)]

    def informed(self, raw: Raw) -> Sequence[Draft]:
        title = _infos.decode(raw).title
        return (SessionUpdated(title=title),) if title and not self.titled else ()

    def context(self, raw: Raw) -> Sequence[Draft]:
        usage = _contexts.decode(raw)
        if usage.cost and usage.cost.currency == "USD":
            self._usage.cost(usage.cost.amount)
        return self._notices.context(usage)

    def echoed(self, raw: Raw) -> Sequence[Draft]:
        """Messages of the session are items already."""
        return ()

    def _in_mode(self, native: str) -> Sequence[Draft]:
        """The agent changed its mode by itself, for example because its plan was approved."""
        if not native or self.native is None or native == self.native:
            return ()
        self.native = native
        self.mode = self.chosen.get(native) or policies.universal_mode(self.profile, native)
        return (SessionUpdated(permission_mode=self.mode),)

    # -- requests of the agent --------------------------------------------------------------------------------------

    def _asked(self, method: str, id: wire.Id, params: Raw) -> Sequence[Draft] | str:
        match method:
            case "session/request_permission":
                return self._permission(id, _permissions.decode(params))
            case "elicitation/create":
                request = _elicitations.decode(params)
                fields = request.requested_schema.properties if request.requested_schema else {}
                item = self._calls.keys.latest(request.tool_call_id) if request.tool_call_id else None
                return self._ask(id, AcpFormAsk(id, fields), asks.form(_key(id), request, item))
            case "_qwencode/start_turn" if self.prompt is None:
                self._own_turn = True
                self.effects.append(UnservedAcpRequest(id, method))
                return (TurnStarted(turn_id="", input_item_ids=[]),)
            case _ if method in CLIENT_METHODS and self.profile.client_methods:
                self.effects.append(ClientRequest(id, method, params))
                return ()
            case _:
                self.effects.append(UnservedAcpRequest(id, method))
                if method.startswith(VENDORS):
                    return self._notices.vendor(method, params)
                return () if method in CLIENT_METHODS else f"unknown request {method!r}"

    def _permission(self, id: wire.Id, request: wire.PermissionParams) -> Sequence[Draft] | str:
        key, update, options = _key(id), request.tool_call, request.options
        if key in self.asks:
            return f"a second request with the id {key} of one that is open"
        self._worked = True
        call, drafts = self._calls.asked(update)
        drafts = [*self._messages.end(), *drafts]
        tool = self._calls.judged(call)
        if (asked := meta_of(update.meta).questions) is not None:
            question = asks.questions(key, asked, call.key)
            return self._ask(id, AcpQuestionsAsk(id, options, len(asked)), question, drafts)
        ruled = policies.verdict(self.policies, self.profile, tool)
        decision = policies.decide(ruled, self.profile, self.mode, call, tool)
        if decision:
            ask = AcpPermissionAsk(id, options)
            if decision == "allow":
                self.permitted.add(tool.tool)
            self.effects.append(
                SettledAcpRequest(id, answers.permitted(ask, "once" if decision == "allow" else "reject"))
            )
            return drafts
        if asks.is_choice(options):
            return self._ask(id, AcpChoiceAsk(id, options), asks.choice(key, update, options, call.key), drafts)
        ask = AcpPermissionAsk(id, options, tool.tool, self.profile.always_option, each_time=ruled == "ask")
        input = asks.input_of(call.arguments)
        return self._ask(id, ask, asks.permission(key, tool.tool, update, input, call.key, ask), drafts)

    def _ask(self, id: wire.Id, ask: AcpAsk, draft: Draft, before: Sequence[Draft] = ()) -> Sequence[Draft] | str:
        """Outside a turn, or in one that is being cancelled, nobody can answer."""
        key = _key(id)
        if key in self.asks:
            return f"a second request with the id {key} of one that is open"
        if self.cancelled or (self.prompt is None and not self._own_turn):
            self.effects.append(SettledAcpRequest(id, answers.lapsed(ask)))
            return before
        self.asks[key] = ask
        return [*before, draft]

    def _withdrawn(self, id: wire.Id) -> Sequence[Draft]:
        """The agent goes on without an answer, but still gets one. One that was answered just before is settled."""
        key = _key(id)
        ask = self.asks.pop(key, None)
        if ask is None:
            return ()
        self.effects.append(SettledAcpRequest(id, answers.lapsed(ask)))
        return (asks.withdrawn(key, ask, self.profile.title),)

    # -- answers to us ----------------------------------------------------------------------------------------------

    def _answered(self, head: wire.AcpHead) -> Sequence[Draft] | str:
        id = head.id
        method = self.sent.pop(id, None) if isinstance(id, int) else None
        if method is None or not isinstance(id, int):
            return "an answer to a request that was not made"
        if id == self.prompt:
            return self._ended(head)
        self.effects.append(AcpReply(id, head.result, head.error))
        if method not in OPENING or head.error or bytes(head.result) == b"null":
            return ()
        opened = _opened.decode(head.result)
        self.options.begun(opened)
        return (NativeSession(opened.session_id),) if method == "session/new" and opened.session_id else ()

    def _ended(self, head: wire.AcpHead) -> Sequence[Draft]:
        """The end of the turn. An agent that was cancelled may call that a success or a failure."""
        spoken, worked, failed = self._messages.spoken, self._worked, self._failure
        closed = self._close()
        if self.cancelled:
            return [*closed, TurnEnded(turn_id="", stop_reason="interrupted")]
        if head.error:
            text = failures.words(head.error)
            error = failures.failure(text, head.error.code, self.profile.login_hint)
            return [*closed, error, TurnEnded(turn_id="", stop_reason="error", error=text)]
        result = _results.decode(head.result)
        usage, cost = self._usage.turn(result), self._usage.turn_cost()
        reason = turns.reason(result.stop_reason)
        drafts = [*closed]
        if reason == "end_turn" and not (spoken or worked or failed or self.command):
            failed = f"{self.profile.title} ended the turn without a word: its model may have refused the request."
            drafts.append(Synthetic(failures.failure(failed)))
        if failed and reason == "end_turn":
            return [*drafts, TurnEnded(turn_id="", stop_reason="error", usage=usage, cost_usd=cost, error=failed)]
        return [*drafts, TurnEnded(turn_id="", stop_reason=reason, usage=usage, cost_usd=cost)]

    def _close(self) -> Sequence[Draft]:
        """Complete what is open at the end of a turn."""
        self.prompt = None
        self.effects += [SettledAcpRequest(ask.id, answers.lapsed(ask)) for ask in self.asks.values()]
        self.asks.clear()
        return [*self._messages.end(), *self._calls.end_turn()]


#: Every update that becomes events. `docs/agents/acp.md` documents each.
UPDATES: dict[str, Handler] = {
    "agent_message_chunk": AcpDecoder.message_chunk,
    "agent_thought_chunk": AcpDecoder.thought_chunk,
    "user_message_chunk": AcpDecoder.echoed,
    "tool_call": AcpDecoder.tool_call,
    "tool_call_update": AcpDecoder.tool_call_update,
    "plan": AcpDecoder.plan,
    "available_commands_update": AcpDecoder.commands,
    "current_mode_update": AcpDecoder.mode_changed,
    "config_option_update": AcpDecoder.options_changed,
    "session_info_update": AcpDecoder.informed,
    "usage_update": AcpDecoder.context,
}
#: Updates that repeat the history of a loaded session.
REPLAYED = frozenset(
    {"agent_message_chunk", "agent_thought_chunk", "user_message_chunk", "tool_call", "tool_call_update", "plan"}
)
#: Requests whose result describes the session.
OPENING = frozenset({"session/new", "session/load", "session/resume"})
#: Vendors' messages that are known to need no answer but a refusal: they become status items.
VENDORS = ("craft/drainMidTurnQueue", "qwen/notify/", "_qwencode/")


def _key(id: wire.Id) -> str:
    """The key of an ask. JSON-RPC distinguishes 1 and "1", so the key does."""
    return msgspec.json.encode(id).decode()
