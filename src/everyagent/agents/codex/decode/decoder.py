"""What the app-server says into drafts. Pure but for what it remembers: one decoder for each session."""

import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from everyagent.agents.adapter import Draft, Frame, Heard, NativeSession
from everyagent.agents.codex.decode import asks, failures, notices, tools
from everyagent.agents.codex.decode.asks import Ask
from everyagent.agents.codex.decode.rollout import Recorded
from everyagent.agents.codex.decode.threads import Threads
from everyagent.agents.codex.decode.usage import Meter
from everyagent.agents.codex.driver.effects import Answered, Aside, Halted, Reply, Stopped, Unserved
from everyagent.agents.codex.policy.policies import CUSTOM_SERVER
from everyagent.agents.codex.policy.policy_hooks import Knock, Ruled, Rulings
from everyagent.agents.codex.protocol import requests, wire
from everyagent.agents.codex.protocol.ignored import IGNORED
from everyagent.agents.codex.protocol.rpc import Said
from everyagent.agents.unparsed import BROKEN, unparsed
from everyagent.model.events import ModelResponded, StopReason, TurnEnded, TurnStarted

P = TypeVar("P")
F = TypeVar("F", bound=Struct)
Handler: TypeAlias = Callable[["Decoder", Said], Sequence[Draft] | None]

LOCATION = "agents/codex/decode.py"
_CUT = "The model's stream was cut, so this is told anew."
_OPEN = "The turn ended before this did."

_responses = msgspec.json.Decoder(wire.Response)
_opened = msgspec.json.Decoder(wire.ThreadOpened)
_begun = msgspec.json.Decoder(wire.TurnBegun)


class Envelope(Struct, Generic[P], frozen=True):
    params: P


class Decoder:
    """`asides` is what the driver has to see to after each batch; it takes them out.

    `turn` is the one that runs, `turns` counts those begun. `sent` has the methods of requests that Codex has not
    answered yet. `accepts_patches`: changes of files in `directory` are approved unasked. `closed`: Codex has let go
    of the thread.
    """

    def __init__(self, directory: str = "", *, now: Callable[[], float] = time.time) -> None:
        self.directory = directory
        self.accepts_patches = False
        self.sent: dict[wire.Id, str] = {}
        self.asks: dict[str, tuple[wire.Id, Ask]] = {}
        self.asides: list[Aside] = []
        self.turn: str | None = None
        self.turns = 0
        self.opened: wire.ThreadOpened | None = None
        self.closed = False
        self._now = now
        self._threads = Threads()
        self.rulings = Rulings(self._threads)
        self._meter = Meter()
        self._models: dict[str, str] = {}  # which model each thread works with
        self._notices = 0
        self._named = False
        self._retries = 0
        self._failure: wire.TurnFailure | None = None
        self._diff = ""
        self._unread: str | None = None

    def decode(self, said: Said) -> Heard:
        """Never fails: what it does not understand becomes an `Unparsed`, with the line as its frame."""
        if said.problem:
            return self._unparsed(said, said.problem)
        try:
            drafts = self._dispatch(said)
        except BROKEN as problem:
            return self._unparsed(said, str(problem))
        if drafts is None:
            return self._unparsed(said, f"unknown message {said.method!r}")
        return Heard(Frame("from_agent", said.body), drafts)

    def recorded(self, record: Recorded) -> Heard:
        """From Codex's own record of the session's thread, before the end of the turn is decoded."""
        notice = wire.ModelItemNotice(item=record.item, thread_id=self._threads.main or "")
        return Heard(Frame("from_agent", record.body), self._threads.by_model(notice))

    def unread(self, problem: str) -> None:
        """The record could not be read; it is told with the end of the turn."""
        self._unread = problem

    def ends_turn(self, said: Said) -> bool:
        return said.method == "turn/completed" and said.thread == self._threads.main

    def _dispatch(self, said: Said) -> Sequence[Draft] | None:
        if said.method is None:
            return self._replied(_responses.decode(said.body))
        handler = MAPPED.get(said.method) or REQUESTS.get(said.method)
        if handler:
            return handler(self, said)
        return () if said.method in IGNORED else None

    def _unparsed(self, said: Said, error: str) -> Heard:
        """A request that is not understood is refused all the same."""
        if said.method is not None and said.id is not None:
            self.asides.append(Unserved(said.id, said.method))
        return unparsed(said.body, error, LOCATION)

    def _replied(self, response: wire.Response) -> Sequence[Draft]:
        method = self.sent.pop(response.id, None)
        if response.error is None and method in ("thread/start", "thread/resume"):
            self.opened = _opened.decode(response.result)
            self._threads.main = self.opened.thread.id
            self._models[self._threads.main] = self.opened.model
        elif response.error is None and method == "turn/start":
            self.turn = _begun.decode(response.result).turn.id
            self._meter.running = True
        self.asides.append(Reply(response.id, response.result, response.error))
        return ()

    # -- turns ------------------------------------------------------------------------------------------------

    def turn_started(self, notice: wire.TurnNotice) -> Sequence[Draft]:
        """A thread can be resumed from its first turn on, so that is when it is named."""
        if self._threads.is_child(notice.thread_id):
            self._threads.subagents.works(notice.thread_id, notice.turn.id)
            return ()
        self.turn = notice.turn.id
        self.turns += 1
        self._meter.running = True
        begun = TurnStarted(turn_id="", input_item_ids=[])
        if self._named:
            return (begun,)
        self._named = True
        return (NativeSession(notice.thread_id), begun)

    def turn_of(self, thread: str) -> str | None:
        """The one that runs, the session's or a sub-agent's."""
        if not self._threads.is_child(thread):
            return self.turn
        running = self._threads.subagents.running(thread)
        return running.turn if running else None

    def turn_completed(self, notice: wire.TurnNotice) -> Sequence[Draft]:
        turn, thread = notice.turn, notice.thread_id
        if not self._threads.is_child(thread) and self.turn and turn.id != self.turn:
            return ()
        interrupted = turn.status == "interrupted"
        drafts = list(self._threads.ended(thread, "The turn was interrupted." if interrupted else _OPEN))
        if interrupted:
            self.asides.append(Stopped(thread))
        if self._threads.is_child(thread):
            halted = self._threads.subagents.rests(thread)
            if halted and interrupted:
                self.asides.append(Halted(halted.parent, halted.path))
                drafts += self._threads.subagent_returned(thread, turn.status)
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
        self.rulings.turn_over()
        self._meter.running = False
        return drafts

    def failed(self, notice: wire.ErrorNotice) -> Sequence[Draft]:
        if notice.will_retry:
            self._retries += 1
            started_over = self._threads.starts_over(notice.thread_id, _CUT)
            retrying = failures.retrying(notice.error, self._retries)
            return [replace(retrying, subagent=self._threads.subagent(notice.thread_id)), *started_over]
        if not self._threads.is_child(notice.thread_id):
            self._failure = notice.error
        return (failures.error(notice.error),)

    def used(self, notice: wire.UsageNotice) -> Sequence[Draft]:
        used = self._meter.read(notice.thread_id, notice.token_usage)
        if used is None:
            return ()
        thread = notice.thread_id
        return (ModelResponded(usage=used, model=self._models.get(thread), subagent=self._threads.subagent(thread)),)

    def set(self, notice: wire.SettingsNotice) -> Sequence[Draft]:
        self._models[notice.thread_id] = notice.thread_settings.model
        return ()

    def changed(self, notice: wire.DiffNotice) -> Sequence[Draft]:
        if not self._threads.is_child(notice.thread_id):
            self._diff = notice.diff
        return ()

    def let_go(self, said: Said) -> Sequence[Draft]:
        self.closed = self.closed or said.thread == self._threads.main
        return ()

    # -- items ------------------------------------------------------------------------------------------------

    def item_started(self, notice: wire.ItemNotice) -> Sequence[Draft] | None:
        return self._threads.started(notice.thread_id, notice.item)

    def item_completed(self, notice: wire.ItemNotice) -> Sequence[Draft] | None:
        return self._threads.completed(notice.thread_id, notice.item)

    def by_model(self, notice: wire.ModelItemNotice) -> Sequence[Draft]:
        return self._threads.by_model(notice)

    @property
    def threads(self) -> Threads:
        return self._threads

    # -- asks -------------------------------------------------------------------------------------------------

    def patch_asked(self, said: Said, request: requests.FileApproval) -> Iterator[Draft]:
        key = self._threads.key(said.thread or "", request.item_id)
        call = self._threads.calls.get(key)
        inside = call and all(self._inside(change.path) for change in call.item.changes)
        if self.accepts_patches and inside and not request.grant_root:
            self.asides.append(Answered(said.id or 0, {"decision": "accept"}))
            return
        changes = tools.changes(call.item) if call else []
        yield from self.ask(said, *asks.patch(_key(said), request, changes, key))

    def elicited(self, said: Said, request: requests.Elicitation) -> Iterator[Draft]:
        approval = request.meta is not None and request.meta.approval_kind == asks.MCP_APPROVAL
        if approval and request.server_name == CUSTOM_SERVER:
            self.asides.append(Answered(said.id or 0, {"action": "accept", "content": None, "_meta": None}))
        else:
            yield from self.ask(said, *asks.elicitation(_key(said), request))

    def ask(self, said: Said, ask: Ask, drafted: asks.Requested) -> Iterator[Draft]:
        if settled := self.rulings.settles(drafted):
            self.asides.append(Answered(said.id or 0, asks.response(ask, settled)))
            return
        self.asks[_key(said)] = (said.id or 0, ask)
        yield drafted

    def knocked(self, knock: Knock) -> Heard:
        ruling, drafts = self.rulings.knocked(knock)
        if isinstance(ruling, Ruled):
            self.asides.append(ruling)
        else:
            self.asks[knock.key] = (knock.key, ruling.ask)
        return Heard(Frame("from_agent", knock.body), drafts)

    def item_key(self, said: Said, id: str) -> str:
        return self._threads.key(said.thread or "", id)

    def clock_asked(self, said: Said) -> Sequence[Draft]:
        self.asides.append(Answered(said.id or 0, {"currentTimeAt": int(self._now())}))
        return ()

    def unserved(self, said: Said) -> Sequence[Draft]:
        self.asides.append(Unserved(said.id or 0, said.method or ""))
        return ()

    def resolved(self, notice: wire.Resolved) -> Sequence[Draft]:
        """Also told of what we have answered; then the ask is no longer open."""
        key = f"ask {notice.request_id}"
        _, ask = self.asks.pop(key, (None, None))
        return (asks.withdrawn(key, ask),) if ask else ()

    def warned(self, notice: wire.Notice) -> Sequence[Draft]:
        """A sub-agent's thread warns of what the session's own has warned of."""
        if notice.thread_id and self._threads.is_child(notice.thread_id):
            return ()
        return notices.warning(self.notice_key(), notice)

    # -- the rest ---------------------------------------------------------------------------------------------

    def notice_key(self) -> str:
        self._notices += 1
        return f"notice {self._notices}"

    def _inside(self, path: str) -> bool:
        where = PurePath(self.directory, path)
        return where.is_relative_to(self.directory) and ".." not in where.parts


def _key(said: Said) -> str:
    return f"ask {said.id}"


# -- tables -----------------------------------------------------------------------------------------------------


def _typed(shape: type[F], handle: Callable[[Decoder, F], Sequence[Draft] | None]) -> Handler:
    decoder = msgspec.json.Decoder(Envelope[shape])
    return lambda self, said: handle(self, decoder.decode(said.body).params)


def _piece(tell: Callable[[Threads, wire.Delta], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(Envelope[wire.Delta])
    return lambda self, said: tell(self.threads, decoder.decode(said.body).params)


def _notice(shape: type[F], tell: Callable[[str, F], Sequence[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(Envelope[shape])
    return lambda self, said: tell(self.notice_key(), decoder.decode(said.body).params)


def _request(shape: type[F], handle: Callable[[Decoder, Said, F], Iterator[Draft]]) -> Handler:
    decoder = msgspec.json.Decoder(Envelope[shape])
    return lambda self, said: list(handle(self, said, decoder.decode(said.body).params))


#: Notifications that become events. `docs/agents/codex.md` says what each becomes.
MAPPED: dict[str, Handler] = {
    "item/agentMessage/delta": _piece(Threads.text),
    "item/plan/delta": _piece(Threads.text),
    "item/reasoning/summaryPartAdded": _piece(Threads.summary_part),
    "item/reasoning/summaryTextDelta": _piece(Threads.summary),
    "item/reasoning/textDelta": _piece(Threads.thought),
    "item/commandExecution/outputDelta": _piece(Threads.output),
    "item/commandExecution/terminalInteraction": _piece(Threads.typed),
    "item/fileChange/outputDelta": _piece(Threads.output),
    "item/mcpToolCall/progress": _piece(Threads.output),
    "item/started": _typed(wire.ItemNotice, Decoder.item_started),
    "item/completed": _typed(wire.ItemNotice, Decoder.item_completed),
    "rawResponseItem/completed": _typed(wire.ModelItemNotice, Decoder.by_model),
    "turn/started": _typed(wire.TurnNotice, Decoder.turn_started),
    "turn/completed": _typed(wire.TurnNotice, Decoder.turn_completed),
    "turn/diff/updated": _typed(wire.DiffNotice, Decoder.changed),
    "turn/plan/updated": _notice(wire.PlanNotice, notices.plan),
    "thread/tokenUsage/updated": _typed(wire.UsageNotice, Decoder.used),
    "thread/settings/updated": _typed(wire.SettingsNotice, Decoder.set),
    "thread/name/updated": _notice(wire.Notice, notices.titled),
    "thread/goal/updated": _notice(wire.GoalNotice, notices.goal),
    "thread/closed": Decoder.let_go,
    "serverRequest/resolved": _typed(wire.Resolved, Decoder.resolved),
    "error": _typed(wire.ErrorNotice, Decoder.failed),
    "warning": _typed(wire.Notice, Decoder.warned),
    "guardianWarning": _typed(wire.Notice, Decoder.warned),
    "configWarning": _typed(wire.Notice, Decoder.warned),
    "mcpServer/startupStatus/updated": _notice(wire.Notice, notices.mcp_startup),
    "account/rateLimits/updated": _notice(wire.LimitsNotice, notices.limits),
    "model/rerouted": _notice(wire.Notice, notices.rerouted),
    "modelProvider/authRecoveryStarted": _notice(wire.Notice, notices.auth_recovery),
    "modelProvider/authRecoveryCompleted": _notice(wire.Notice, notices.auth_recovery),
    "hook/completed": _notice(wire.HookNotice, notices.hook),
    "item/autoApprovalReview/completed": _notice(wire.ReviewNotice, notices.review),
}

#: Requests of Codex's to us. Every one is answered, those that are not here with a refusal.
REQUESTS: dict[str, Handler] = {
    "item/commandExecution/requestApproval": _request(
        requests.CommandApproval,
        lambda self, said, asked: self.ask(said, *asks.command(_key(said), asked, self.item_key(said, asked.item_id))),
    ),
    "item/fileChange/requestApproval": _request(requests.FileApproval, Decoder.patch_asked),
    "item/permissions/requestApproval": _request(
        requests.PermissionsApproval,
        lambda self, said, asked: self.ask(said, *asks.grant(_key(said), asked, self.item_key(said, asked.item_id))),
    ),
    "item/tool/requestUserInput": _request(
        requests.UserInput,
        lambda self, said, asked: self.ask(
            said, *asks.questions(_key(said), asked, self.item_key(said, asked.item_id))
        ),
    ),
    "mcpServer/elicitation/request": _request(requests.Elicitation, Decoder.elicited),
    "execCommandApproval": _request(
        requests.OldCommandApproval,
        lambda self, said, asked: self.ask(
            said, *asks.old_command(_key(said), asked, self.item_key(said, asked.call_id))
        ),
    ),
    "applyPatchApproval": _request(
        requests.OldPatchApproval,
        lambda self, said, asked: self.ask(
            said, *asks.old_patch(_key(said), asked, self.item_key(said, asked.call_id))
        ),
    ),
    "currentTime/read": Decoder.clock_asked,
    "item/tool/call": Decoder.unserved,
    "account/chatgptAuthTokens/refresh": Decoder.unserved,
    "attestation/generate": Decoder.unserved,
}
