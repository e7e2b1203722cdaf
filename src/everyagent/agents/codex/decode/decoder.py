"""Decodes app-server messages into drafts. No I/O; one decoder for each session, with the state of its turn."""

import time
from collections.abc import Callable, Sequence
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import DecodedFrame, Draft, Frame, NativeSession
from everyagent.agents.codex.decode import failures, notices
from everyagent.agents.codex.decode.effects import CodexEffect, RpcReply, SubagentHalted, TurnStopped, UnservedRequest
from everyagent.agents.codex.decode.open_asks import REQUESTS, CodexOpenAsks
from everyagent.agents.codex.decode.rollout import Recorded
from everyagent.agents.codex.decode.subagents import REMEMBERED as SUBAGENTS
from everyagent.agents.codex.decode.threads import ThreadItems
from everyagent.agents.codex.decode.usage import TokenMeter
from everyagent.agents.codex.policy.policy_hooks import PendingHook, PolicyHooks
from everyagent.agents.codex.protocol import wire, wire_items, wire_responses
from everyagent.agents.codex.protocol.ignored import IGNORED
from everyagent.agents.codex.protocol.rpc import RpcMessage
from everyagent.agents.memory import remember
from everyagent.agents.unknown_items import unknown_item, value_at
from everyagent.agents.unparsed import BROKEN, undecodable, unparsed
from everyagent.model.events import (
    ItemCompleted,
    ItemStarted,
    ModelResponded,
    SessionUpdated,
    StopReason,
    TurnEnded,
    TurnStarted,
)

P = TypeVar("P")
F = TypeVar("F", bound=Struct)
Handler: TypeAlias = Callable[["CodexDecoder", RpcMessage], Sequence[Draft] | None]

LOCATION = "agents/codex/decode.py"
_CUT = "The model's stream was cut; the agent repeats this item."
_OPEN = "The turn ended before this did."

_responses = msgspec.json.Decoder(wire.CodexResponse)
_opened = msgspec.json.Decoder(wire_responses.ThreadOpened)
_begun = msgspec.json.Decoder(wire_responses.TurnBegun)


class RpcEnvelope(Struct, Generic[P], frozen=True):
    params: P


class CodexDecoder:
    """`effects` are for the driver to carry out after each batch. `closed`: Codex has unloaded the thread.

    `turn` is the one that runs, `turns` counts those begun. `sent` has the methods of requests that Codex has not
    answered yet.
    """

    def __init__(self, directory: str = "", *, now: Callable[[], float] = time.time) -> None:
        self.sent: dict[wire.Id, str] = {}
        self.effects: list[CodexEffect] = []
        self.turn: str | None = None
        self.turns = 0
        self.opened: wire_responses.ThreadOpened | None = None
        self.closed = False
        self.threads = ThreadItems()
        self.policy_hooks = PolicyHooks(self.threads)
        self.asks = CodexOpenAsks(directory, self.threads, self.policy_hooks, self.effects, now)
        self._meter = TokenMeter()
        self._models: dict[str, str] = {}  # the model of each thread
        self._notices = 0
        self._named = self._announced = False
        self._retries = 0
        self._failure: wire.TurnFailure | None = None
        self._diff = ""
        self._unread: str | None = None

    def take_effects(self) -> list[CodexEffect]:
        effects = self.effects.copy()
        self.effects.clear()
        return effects

    def decode(self, message: RpcMessage) -> DecodedFrame:
        """Never raises: a message that cannot be decoded becomes `agent.unparsed`, with the line as its frame."""
        if message.problem:
            return self._unparsed(message, message.problem)
        try:
            drafts = self._dispatch(message)
        except BROKEN as problem:
            return self._unparsed(message, str(problem))
        except Exception as fault:  # noqa: BLE001 - logged; it costs this message only
            self._refuse(message)
            return undecodable(message.body, fault, LOCATION)
        if drafts is None:
            return self._unparsed(message, f"unknown message {message.method!r}")
        return DecodedFrame(Frame("from_agent", message.body), drafts)

    def recorded(self, record: Recorded) -> DecodedFrame:
        """A row of Codex's own record of the thread, before the end of the turn is decoded."""
        notice = wire_items.ModelItemNotice(item=record.item, thread_id=self.threads.keys.main or "")
        return DecodedFrame(Frame("from_agent", record.body), self.threads.by_model(notice))

    def unread(self, problem: str) -> None:
        """The record could not be read; that is reported with the end of the turn."""
        self._unread = problem

    def ends_turn(self, message: RpcMessage) -> bool:
        return message.method == "turn/completed" and message.thread == self.threads.keys.main

    def _dispatch(self, message: RpcMessage) -> Sequence[Draft] | None:
        if message.method is None:
            return self._replied(_responses.decode(message.body))
        if handler := MAPPED.get(message.method):
            return handler(self, message)
        if request := REQUESTS.get(message.method):
            return request(self.asks, message)
        return () if message.method in IGNORED else None

    def _unparsed(self, message: RpcMessage, error: str) -> DecodedFrame:
        self._refuse(message)
        return unparsed(message.body, error, LOCATION)

    def _refuse(self, message: RpcMessage) -> None:
        """A request that cannot be decoded is refused, so that Codex does not wait."""
        if message.method is not None and message.id is not None:
            self.effects.append(UnservedRequest(message.id, message.method))

    def _replied(self, response: wire.CodexResponse) -> Sequence[Draft]:
        method = self.sent.pop(response.id, None)
        if response.error is None and method in ("thread/start", "thread/resume"):
            self.opened = _opened.decode(response.result)
            self.threads.keys.main = self.opened.thread.id
            remember(self._models, self.threads.keys.main, self.opened.model, SUBAGENTS)
        elif response.error is None and method == "turn/start":
            self.turn = _begun.decode(response.result).turn.id
            self._meter.running = True
        self.effects.append(RpcReply(response.id, response.result, response.error))
        return ()

    # -- turns ------------------------------------------------------------------------------------------------

    def turn_started(self, notice: wire.TurnNotice) -> Sequence[Draft]:
        """A thread can be resumed from its first turn on, so that is when it is named."""
        if self.threads.is_child(notice.thread_id):
            self.threads.subagents.turn_started(notice.thread_id, notice.turn.id)
            return ()
        self.turn = notice.turn.id
        self.turns += 1
        self._meter.running = True
        begun = TurnStarted(turn_id="", input_item_ids=[])
        if self._named:
            return (begun,)
        self._named = True
        return (NativeSession(notice.thread_id, started=not self._announced), begun)

    def thread_started(self, notice: wire_responses.ThreadNotice) -> Sequence[Draft]:
        """Comes before or after the answer to our request; not for a thread that is resumed, nor for a sub-agent's."""
        if self._announced:
            return ()
        self._announced = True
        return (SessionUpdated(native_session_id=notice.thread.id),)

    def turn_of(self, thread: str) -> str | None:
        """The one that runs, the session's or a sub-agent's."""
        if not self.threads.is_child(thread):
            return self.turn
        running = self.threads.subagents.running(thread)
        return running.turn if running else None

    def turn_completed(self, notice: wire.TurnNotice) -> Sequence[Draft]:
        turn, thread = notice.turn, notice.thread_id
        if not self.threads.is_child(thread) and self.turn and turn.id != self.turn:
            return ()
        interrupted = turn.status == "interrupted"
        drafts = list(self.threads.ended(thread, "The turn was interrupted." if interrupted else _OPEN))
        if interrupted:
            self.effects.append(TurnStopped(thread))
        if self.threads.is_child(thread):
            halted = self.threads.subagents.turn_ended(thread)
            if halted and interrupted:
                self.effects.append(SubagentHalted(halted.parent, halted.path))
                drafts += self.threads.subagent_returned(thread, turn.status)
            return drafts
        if self._unread:
            drafts += notices.record_unread(self.notice_key(), self._unread)
            self._unread = None
        if self._diff:
            drafts += notices.turn_diff(f"diff of {turn.id}", self._diff)
        reason: StopReason = "interrupted" if interrupted else "end_turn"
        failure = turn.error or self._failure
        if turn.status == "failed":
            reason = failures.stop_reason(failure)
            if failure and self._failure is None:
                drafts.append(failures.error(failure))
        error = failure.message if failure and turn.status == "failed" else None
        drafts.append(TurnEnded(turn_id="", stop_reason=reason, usage=self._meter.take(), error=error))
        self.turn, self._failure, self._diff, self._retries = None, None, "", 0
        self.policy_hooks.turn_over()
        self._meter.running = False
        return drafts

    def failed(self, notice: wire.CodexErrorNotice) -> Sequence[Draft]:
        if notice.will_retry:
            self._retries += 1
            started_over = self.threads.starts_over(notice.thread_id, _CUT)
            retrying = failures.retrying(notice.error, self._retries)
            return [replace(retrying, subagent=self.threads.subagent(notice.thread_id)), *started_over]
        if not self.threads.is_child(notice.thread_id):
            self._failure = notice.error
        return (failures.error(notice.error),)

    def used(self, notice: wire.UsageNotice) -> Sequence[Draft]:
        used = self._meter.read(notice.thread_id, notice.token_usage)
        if used is None:
            return ()
        thread = notice.thread_id
        return (ModelResponded(usage=used, model=self._models.get(thread), subagent=self.threads.subagent(thread)),)

    def set(self, notice: wire.SettingsNotice) -> Sequence[Draft]:
        remember(self._models, notice.thread_id, notice.thread_settings.model, SUBAGENTS)
        return ()

    def changed(self, notice: wire.DiffNotice) -> Sequence[Draft]:
        if not self.threads.is_child(notice.thread_id):
            self._diff = notice.diff
        return ()

    def let_go(self, message: RpcMessage) -> Sequence[Draft]:
        self.closed = self.closed or message.thread == self.threads.keys.main
        return ()

    # -- items ------------------------------------------------------------------------------------------------

    def item_started(self, message: RpcMessage) -> Sequence[Draft]:
        notice = _item_notices.decode(message.body).params
        drafts = self.threads.started(notice.thread_id, notice.item)
        return self._unknown_item(message.body, notice, ItemStarted) if drafts is None else drafts

    def item_completed(self, message: RpcMessage) -> Sequence[Draft]:
        notice = _item_notices.decode(message.body).params
        drafts = self.threads.completed(notice.thread_id, notice.item)
        return self._unknown_item(message.body, notice, ItemCompleted) if drafts is None else drafts

    def _unknown_item(
        self, body: bytes, notice: wire_items.ItemNotice, event: type[ItemStarted] | type[ItemCompleted]
    ) -> Sequence[Draft]:
        item, thread = notice.item, notice.thread_id
        key, json = self.threads.key(thread, item.id), value_at(body, "params", "item")
        subagent = self.threads.subagent(thread)
        return (event(item=unknown_item(key, item.type, json, native=item.id or None, subagent=subagent)),)

    def by_model(self, notice: wire_items.ModelItemNotice) -> Sequence[Draft]:
        return self.threads.by_model(notice)

    # -- the rest ---------------------------------------------------------------------------------------------

    def hook_called(self, hook: PendingHook) -> DecodedFrame:
        return DecodedFrame(Frame("from_agent", hook.body), self.asks.hook_called(hook))

    def warned(self, notice: wire.CodexNotice) -> Sequence[Draft]:
        """A sub-agent's thread repeats the warnings of the session's own."""
        if notice.thread_id and self.threads.is_child(notice.thread_id):
            return ()
        return notices.warning(self.notice_key(), notice)

    def notice_key(self) -> str:
        self._notices += 1
        return f"notice {self._notices}"


# -- tables -----------------------------------------------------------------------------------------------------


def _typed(shape: type[F], handle: Callable[[CodexDecoder, F], Sequence[Draft] | None]) -> Handler:
    decoder = msgspec.json.Decoder(RpcEnvelope[shape])
    return lambda self, message: handle(self, decoder.decode(message.body).params)


def _piece(make: Callable[[ThreadItems, wire.CodexDelta], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(RpcEnvelope[wire.CodexDelta])
    return lambda self, message: make(self.threads, decoder.decode(message.body).params)


def _notice(shape: type[F], make: Callable[[str, F], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(RpcEnvelope[shape])
    return lambda self, message: make(self.notice_key(), decoder.decode(message.body).params)


_item_notices = msgspec.json.Decoder(RpcEnvelope[wire_items.ItemNotice])

#: Notifications that become events. `docs/agents/codex.md` lists the event of each.
MAPPED: dict[str, Handler] = {
    "item/agentMessage/delta": _piece(ThreadItems.text),
    "item/plan/delta": _piece(ThreadItems.text),
    "item/reasoning/summaryPartAdded": _piece(ThreadItems.summary_part),
    "item/reasoning/summaryTextDelta": _piece(ThreadItems.summary),
    "item/reasoning/textDelta": _piece(ThreadItems.thought),
    "item/commandExecution/outputDelta": _piece(ThreadItems.output),
    "item/commandExecution/terminalInteraction": _piece(ThreadItems.typed),
    "item/fileChange/outputDelta": _piece(ThreadItems.output),
    "item/mcpToolCall/progress": _piece(ThreadItems.output),
    "item/started": CodexDecoder.item_started,
    "item/completed": CodexDecoder.item_completed,
    "rawResponseItem/completed": _typed(wire_items.ModelItemNotice, CodexDecoder.by_model),
    "thread/started": _typed(wire_responses.ThreadNotice, CodexDecoder.thread_started),
    "turn/started": _typed(wire.TurnNotice, CodexDecoder.turn_started),
    "turn/completed": _typed(wire.TurnNotice, CodexDecoder.turn_completed),
    "turn/diff/updated": _typed(wire.DiffNotice, CodexDecoder.changed),
    "turn/plan/updated": _notice(wire.PlanNotice, notices.plan),
    "thread/tokenUsage/updated": _typed(wire.UsageNotice, CodexDecoder.used),
    "thread/settings/updated": _typed(wire.SettingsNotice, CodexDecoder.set),
    "thread/name/updated": _notice(wire.CodexNotice, notices.titled),
    "thread/goal/updated": _notice(wire.GoalNotice, notices.goal),
    "thread/closed": CodexDecoder.let_go,
    "serverRequest/resolved": _typed(wire.Resolved, lambda self, notice: self.asks.resolved(notice)),
    "error": _typed(wire.CodexErrorNotice, CodexDecoder.failed),
    "warning": _typed(wire.CodexNotice, CodexDecoder.warned),
    "guardianWarning": _typed(wire.CodexNotice, CodexDecoder.warned),
    "configWarning": _typed(wire.CodexNotice, CodexDecoder.warned),
    "mcpServer/startupStatus/updated": _notice(wire.CodexNotice, notices.mcp_startup),
    "account/rateLimits/updated": _notice(wire.LimitsNotice, notices.limits),
    "model/rerouted": _notice(wire.CodexNotice, notices.rerouted),
    "modelProvider/authRecoveryStarted": _notice(wire.CodexNotice, notices.auth_recovery),
    "modelProvider/authRecoveryCompleted": _notice(wire.CodexNotice, notices.auth_recovery),
    "hook/completed": _notice(wire.HookNotice, notices.hook),
    "item/autoApprovalReview/completed": _notice(wire.ReviewNotice, notices.review),
}
