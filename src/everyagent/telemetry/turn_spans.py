"""The spans of one turn, made from its events. Pure: the exporter gives it one event after the other.

A turn is `invoke_agent`; below it are `chat` for requests to models, `execute_tool`, and the waits for people.
"""

from datetime import datetime

from msgspec import Struct

from everyagent.model.decoding import UnknownData
from everyagent.model.events import (
    Envelope,
    Error,
    Event,
    ItemCompleted,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionUpdated,
    TurnEnded,
    TurnStarted,
)
from everyagent.model.items import Item
from everyagent.model.parts import ToolCallPart, ToolResultPart
from everyagent.model.trace_context import TraceContext, parsed, span_id, turn_context
from everyagent.telemetry.attributes import cut, given, message_json, provider_of, usage_attributes
from everyagent.telemetry.span import Attribute, Span, SpanEvent


class TracedSession(Struct, frozen=True, kw_only=True):
    """The attributes of a session that each of its spans has. `model` is the one at the beginning of the turn."""

    session_id: str
    agent: str
    workspace: str
    model: str | None


class _Open(Struct, kw_only=True):
    """A span that has not ended. `scope` is the item id of the sub-agent's tool call that it belongs to."""

    id: str
    name: str
    start: int
    scope: str | None
    attributes: dict[str, Attribute]


class TurnSpans:
    """`content` adds messages, and the inputs and results of tools."""

    def __init__(self, session: TracedSession, *, content: bool) -> None:
        self._session = session
        self._content = content
        self._model = session.model
        self._spans: list[Span] = []
        self._tools: dict[str, _Open] = {}  # by the id of the call
        self._tool_spans: dict[str, str] = {}  # by the id of the item
        self._asks: dict[str, _Open] = {}
        self._ready: dict[str | None, int] = {}  # since when the model of a scope could be called
        self._asked: dict[str | None, int] = {}  # since when it is being called, as far as is known
        self._retries: list[SpanEvent] = []
        self._said: list[Item] = []
        self._failure: str | None = None
        self._context = TraceContext("", "")
        self._parent: TraceContext | None = None
        self._start = 0
        self._key_id: str | None = None

    def add(self, event: Event | Envelope[UnknownData]) -> list[Span]:
        """Empty until the turn has ended; then all its spans."""
        at, data = _micros(event.time), event.data
        match data:
            case TurnStarted():
                self._begin(data, at, event.actor.key_id if event.actor else None)
            case ItemStarted() | ItemCompleted():
                self._item(data.item, at, event.event_id, done=isinstance(data, ItemCompleted))
            case ModelResponded():
                self._respond(data, at, event.event_id)
            case PermissionRequested():
                tool = given(gen_ai__tool__name=data.tool, everyagent__ask__id=data.permission_id)
                content = {"everyagent.ask.action": data.action} if self._content else {}
                self._ask(data.permission_id, "permission", at, event.event_id, data.item_id, tool | content)
            case QuestionRequested():
                content = {"everyagent.ask.prompt": cut(data.prompt)} if self._content else {}
                asked = given(everyagent__ask__id=data.question_id)
                self._ask(data.question_id, "question", at, event.event_id, data.item_id, asked | content)
            case PermissionResolved():
                self._answer(data.permission_id, at, data.status)
            case QuestionResolved():
                self._answer(data.question_id, at, data.status)
            case SessionUpdated():
                self._model = data.model if isinstance(data.model, str) else self._model
            case Error():
                self._fail(data, at)
            case TurnEnded():
                self._end(data, at)
                return self._spans
            case _:
                pass
        return []

    def _begin(self, data: TurnStarted, at: int, key_id: str | None) -> None:
        self._parent = parsed(data.traceparent)
        self._context = turn_context(data.turn_id, self._parent)
        self._start = self._ready[None] = at
        self._key_id = key_id

    def _shared(self) -> dict[str, Attribute]:
        session = self._session
        return {
            "gen_ai.provider.name": provider_of(session.agent, self._model),
            "gen_ai.agent.name": session.agent,
            "gen_ai.conversation.id": session.session_id,
        }

    def _item(self, item: Item, at: int, event_id: str, *, done: bool) -> None:
        call = next((part for part in item.content if isinstance(part, ToolCallPart)), None)
        result = next((part for part in item.content if isinstance(part, ToolResultPart)), None)
        if call is not None:
            self._call(item, call, at, event_id, done=done)
        elif result is not None and done:
            self._return(item, result, at)
        if item.role == "assistant" and item.kind in ("message", "tool_call"):
            self._asked.setdefault(item.subagent, self._ready.get(item.subagent, at))
        if done and self._content and item.kind == "message" and item.subagent is None:
            self._said.append(item)

    def _call(self, item: Item, call: ToolCallPart, at: int, event_id: str, *, done: bool) -> None:
        tool = self._tools.get(call.call_id)
        if tool is None:
            if item.item_id in self._tool_spans:
                return  # its result has come
            tool = _Open(id=span_id(event_id), name=call.name, start=at, scope=item.subagent, attributes={})
            self._tools[call.call_id] = tool
            self._tool_spans[item.item_id] = tool.id
            self._ready[item.item_id] = at
        tool.name = call.name or tool.name
        tool.attributes |= given(gen_ai__tool__call__id=call.call_id, everyagent__mcp_server=call.mcp_server)
        if self._content:
            tool.attributes["gen_ai.tool.call.arguments"] = cut(call.arguments)
        if done and item.status == "failed":
            self._end_tool(call.call_id, at, "tool_failed")

    def _return(self, item: Item, result: ToolResultPart, at: int) -> None:
        tool = self._tools.get(result.call_id)
        if tool is None:
            return
        tool.attributes |= given(everyagent__tool__exit_code=result.exit_code)
        if self._content:
            tool.attributes["gen_ai.tool.call.result"] = cut(result.output)
        self._end_tool(result.call_id, at, "tool_failed" if result.is_error or item.status == "failed" else None)

    def _end_tool(self, call_id: str, at: int, error: str | None) -> None:
        tool = self._tools.pop(call_id)
        self._ready[tool.scope] = at
        attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name, **tool.attributes}
        self._close(tool, f"execute_tool {tool.name}", at, attributes, error)

    def _respond(self, data: ModelResponded, at: int, event_id: str) -> None:
        """Only its end is known: it began when the model had what it answers."""
        scope = data.subagent
        start = self._asked.pop(scope, self._ready.get(scope, at))
        self._ready[scope] = at
        model = data.model or self._model
        attributes = {
            "gen_ai.operation.name": "chat",
            **given(gen_ai__request__model=model, gen_ai__response__model=data.model),
            **given(everyagent__cost_usd=data.cost_usd),
            **usage_attributes(data.usage),
        }
        request = _Open(id=span_id(event_id), name="chat", start=start, scope=scope, attributes={})
        self._close(request, f"chat {model}" if model else "chat", at, attributes, kind_is_client=True)

    def _ask(
        self, ask_id: str, kind: str, at: int, event_id: str, item_id: str | None, attributes: dict[str, Attribute]
    ) -> None:
        """Below the call that it is about, if that is known."""
        about = {"everyagent.ask.kind": kind, **attributes}
        self._asks[ask_id] = _Open(id=span_id(event_id), name=kind, start=at, scope=item_id, attributes=about)

    def _answer(self, ask_id: str, at: int, outcome: str) -> None:
        """One that was asked in an earlier turn was exported with that."""
        if ask := self._asks.pop(ask_id, None):
            self._close(ask, f"wait_for_{ask.name}", at, {**ask.attributes, "everyagent.ask.outcome": outcome})

    def _fail(self, data: Error, at: int) -> None:
        code = data.code or "internal"
        if data.retry is None:
            self._failure = code if data.subagent is None else self._failure
            return
        attributes: dict[str, Attribute] = {
            "error.type": code,
            "everyagent.retry.attempt": data.retry.attempt,
            "everyagent.retry.delay_ms": data.retry.delay_ms,
        }
        self._retries.append(SpanEvent("retry", at, attributes))

    def _end(self, data: TurnEnded, at: int) -> None:
        for call_id in list(self._tools):
            self._end_tool(call_id, at, "turn_ended")
        for ask_id in list(self._asks):
            self._answer(ask_id, at, "open")
        session = self._session
        attributes = {
            "gen_ai.operation.name": "invoke_agent",
            **self._shared(),
            **given(gen_ai__request__model=self._model),
            "gen_ai.response.finish_reasons": [data.stop_reason],
            **usage_attributes(data.usage),
            "everyagent.turn.id": data.turn_id,
            "everyagent.workspace": session.workspace,
            **given(everyagent__key__id=self._key_id, everyagent__cost_usd=data.cost_usd),
        }
        if self._content:
            attributes["gen_ai.input.messages"] = message_json([each for each in self._said if each.role == "user"])
            attributes["gen_ai.output.messages"] = message_json([each for each in self._said if each.role != "user"])
        error = (self._failure or "error") if data.stop_reason == "error" else None
        self._spans.insert(
            0,
            Span(
                name=f"invoke_agent {session.agent}",
                context=self._context,
                parent=self._parent,
                remote=self._parent is not None,
                start=self._start,
                end=at,
                attributes=attributes,
                error=error,
                events=self._retries,
            ),
        )

    def _close(
        self,
        of: _Open,
        name: str,
        at: int,
        attributes: dict[str, Attribute],
        error: str | None = None,
        *,
        kind_is_client: bool = False,
    ) -> None:
        above = self._tool_spans.get(of.scope or "", self._context.span_id)
        trace_id = self._context.trace_id
        self._spans.append(
            Span(
                name=name,
                context=TraceContext(trace_id, of.id),
                parent=TraceContext(trace_id, above),
                start=of.start,
                end=at,
                attributes={**self._shared(), **attributes},
                kind="client" if kind_is_client else "internal",
                error=error,
            )
        )


def _micros(time: str) -> int:
    return round(datetime.fromisoformat(time).timestamp() * 1_000_000)
