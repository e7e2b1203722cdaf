"""Sessions as MCP tools, so that agents can drive agents. `universal/mcp.py` is the route.

A started session has its parent and its depth in its metadata, so chains end also if no session waits for the next
one. The daemon adds the parent's id to the requests of the MCP servers that it gives to agents.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import anyio
import msgspec
from msgspec import Struct

from everyagent.api import request_decoding
from everyagent.api import session_tool_inputs as inputs
from everyagent.api.asgi import Scope as AsgiScope
from everyagent.api.authorization import authorize
from everyagent.api.context import Context
from everyagent.api.mcp_server import RpcCall, tool_result
from everyagent.api.universal.key_limits import checked_creation
from everyagent.errors import BadRequest, Conflict, EveryagentError, SessionNotFound
from everyagent.model.asks import Answer, PermissionAnswer, QuestionAnswer
from everyagent.model.decoding import decode_event
from everyagent.model.events import ItemCompleted, TurnEnded, TurnStarted
from everyagent.model.items import Item, reasoning_of, text_of
from everyagent.model.parts import Json, ToolCallPart, ToolResultPart
from everyagent.model.principals import Scope, current
from everyagent.model.sessions import CreateSession, SendMessage, SessionInfo
from everyagent.model.tools import SESSION_HEADER
from everyagent.sessions import EventsRequest, SessionQuery, Sessions

if TYPE_CHECKING:
    from everyagent.api.forwarding import OwningNode

#: In the metadata of sessions that were started by these tools.
STARTED_BY = "everyagent.started_by"
PARENT = "everyagent.parent"
DEPTH = "everyagent.depth"
#: Sessions of one workspace that may run at the same time because of these tools.
MAX_RUNNING = 8
#: Of one text, so much is returned.
MAX_TEXT = 50_000
_SETTLING = ("turn.ended", "permission.requested", "question.requested", "tool.requested", "session.ended")
_OUTCOME = ("turn.started", "turn.ended", "item.completed")
#: Routes that errors of the daemon name, and the tools for them.
_TOOLS = {"GET /v1/sessions": "`list_sessions`", "GET /asks": "`wait_for_session`"}
_READ: tuple[Scope, ...] = ("read",)


class _PassedOn(Struct):
    result: dict[str, object]


class SessionTools:
    """The tools for one request, with the rights of its principal."""

    def __init__(self, context: Context, scope: AsgiScope) -> None:
        """`scope` is that of the request."""
        self._context = context
        self._scope = scope
        self._sessions: Sessions = context.sessions
        self._limits = context.start_limits

    async def call(self, name: str, arguments: Json) -> dict[str, object]:
        """The result of a tool. An error of the daemon is a failed result, which the model can read."""
        try:
            given = msgspec.convert(arguments or {}, inputs.INPUTS[name])
        except msgspec.ValidationError as error:
            from everyagent.api.invalid_input import explained

            text, _ = explained(error, inputs.INPUTS[name], arguments)
            return tool_result(f"The arguments do not fit: {text}", failed=True)
        try:
            if isinstance(given, inputs.SendToSession):
                await self._refuse_unsendable(given.session_id)
            if isinstance(given, inputs.COMMANDS) and (owner := await self._owner(given.session_id)):
                return await self._passed_on(owner, name, arguments)
            result = await self._result(given)
        except EveryagentError as error:
            return tool_result(_with_tools(str(error)), failed=True)
        return tool_result(msgspec.json.encode(result).decode(), failed=False)

    async def _owner(self, session_id: str) -> "OwningNode | None":
        """The other node that owns a session."""
        forwarder = self._context.forwarder
        return await forwarder.elsewhere(session_id, self._scope) if forwarder else None

    async def _passed_on(self, owner: "OwningNode", name: str, arguments: Json) -> dict[str, object]:
        """The result of the tool on another node."""
        assert self._context.forwarder is not None
        call = RpcCall(jsonrpc="2.0", id=1, method="tools/call", params={"name": name, "arguments": arguments})
        answer = await self._context.forwarder.post(owner, "/mcp", msgspec.json.encode(call), current())
        try:
            return msgspec.json.decode(answer.content, type=_PassedOn).result
        except msgspec.DecodeError:
            return tool_result(f"The node of the session refused: {_cut(answer.text)}", failed=True)

    async def _result(self, given: inputs.ToolInput) -> object:
        match given:
            case inputs.ListAgents():
                self._need(_READ)
                return await self._agents()
            case inputs.StartSession():
                return await self._start(given)
            case inputs.SendToSession():
                await self._send(given.session_id, given.message)
                return await self._settled(given.session_id, given.wait_seconds)
            case inputs.WaitForSession():
                self._need(_READ)
                return await self._settled(given.session_id, given.wait_seconds)
            case inputs.ReadSession():
                self._need(_READ)
                return await self._read(given)
            case inputs.AnswerAsk():
                self._need(("answer",))
                await self._sessions.answer(given.session_id, given.ask_id, _answer(given))
                return await self._settled(given.session_id, given.wait_seconds)
            case inputs.CancelTurn():
                self._need(("run",))
                return {"cancelled": await self._sessions.cancel(given.session_id)}
            case inputs.EndSession():
                self._need(("run",))
                await self._sessions.terminate(given.session_id)
                return {"ended": True}
            case inputs.ListSessions():
                self._need(_READ)
                query = SessionQuery(status=given.status, agent=given.agent, limit=given.limit)
                listed, _ = await self._sessions.list(query)
                return {"sessions": [_summary(info) for info in listed]}
            case _:
                raise BadRequest(f"There is no tool for {type(given).__name__}.")

    def _need(self, scopes: tuple[Scope, ...], *, turns: bool = False) -> None:
        authorize(current(), scopes, turns=turns, keys=self._sessions.services.keys)

    # -- tools ----------------------------------------------------------------------------------------------------

    async def _agents(self) -> object:
        infos = await self._sessions.agents.infos()
        return {
            "agents": [
                {
                    "id": info.id,
                    "title": info.title,
                    "installed": info.installed,
                    "logged_in": info.credentials_available,
                    "problem": info.problem,
                }
                for info in infos
            ]
        }

    async def _start(self, given: inputs.StartSession) -> object:
        self._need(("run",), turns=True)
        request = CreateSession(
            agent=given.agent,
            directory=given.directory,
            model=given.model,
            permission_mode=given.permission_mode,
            title=given.title,
            metadata={STARTED_BY: "mcp", **await self._lineage()},
            budget_usd=self._budget(given.budget_usd),
        )
        async with self._limits.lock(current().creates_in):
            self._limits.start(current().creates_in)
            await self._refuse_over_limit()
            info = await self._sessions.create(None, checked_creation(request, self._context.settings))
            await self._sessions.send(info.session_id, SendMessage(message=given.message))
        return await self._settled(info.session_id, given.wait_seconds)

    async def _refuse_unsendable(self, session_id: str) -> None:
        """On the node that got the request: the one that owns the session does not know which session sent it."""
        self._need(("run",), turns=True)
        await self._refuse_ancestor(session_id)

    async def _send(self, session_id: str, message: str) -> None:
        async with self._limits.lock(current().creates_in):
            info = await self._sessions.get(session_id)
            self._limits.message(current().creates_in)
            if info.status not in ("running", "waiting"):
                await self._refuse_over_limit()
            await self._sessions.send(session_id, SendMessage(message=message))
            self._limits.sent(session_id)

    async def _parent(self) -> SessionInfo | None:
        """The session whose agent sent the request, if the daemon gave it the MCP server."""
        named = request_decoding.header(self._scope, SESSION_HEADER.encode())
        return await self._sessions.get(named) if named else None

    async def _lineage(self) -> dict[str, str]:
        """The metadata of a new session. Raises `Conflict` if it would be too deep."""
        parent = await self._parent()
        depth = _depth_of(parent) + 1 if parent else 1
        most = self._limits.settings.depth
        if parent and depth > most:
            raise Conflict(
                f"This session may not start another one: agents may start agents {most} deep, the limit of the server "
                "(`serve --mcp-depth`). Do the task here."
            )
        return {DEPTH: str(depth), **({PARENT: parent.session_id} if parent else {})}

    def _budget(self, asked: float | None) -> float | None:
        given = [each for each in (asked, self._limits.settings.budget_usd or None) if each is not None]
        return min(given, default=None)

    async def _refuse_ancestor(self, session_id: str) -> None:
        """A session and those above it could keep each other busy for ever."""
        above, steps = await self._parent(), 0
        while above and steps <= self._limits.settings.depth:
            if above.session_id == session_id:
                raise Conflict("A session cannot send messages to itself, or to one that it was started by.")
            parent, steps = above.metadata.get(PARENT), steps + 1
            try:
                above = await self._sessions.get(parent) if parent else None
            except SessionNotFound:  # it was deleted
                return

    async def _refuse_over_limit(self) -> None:
        running = 0
        for status in ("running", "waiting"):
            listed, _ = await self._sessions.list(SessionQuery(status=status, limit=500))
            running += sum(STARTED_BY in info.metadata or self._limits.drives(info.session_id) for info in listed)
        if running >= MAX_RUNNING:
            raise Conflict(
                f"{running} sessions that were started or got a message over MCP are running, and no more than "
                f"{MAX_RUNNING} may. Wait for one of them, or cancel it."
            )

    async def _settled(self, session_id: str, seconds: int) -> object:
        """The state of a session when its turn has ended or needs an answer, or when the time is over."""
        info = await self._sessions.get(session_id)
        with anyio.move_on_after(seconds):
            chunks = await self._sessions.tail(session_id, after=info.event_count, types=_SETTLING, raw=False)
            while _busy(info):
                await anext(chunks, None)
                info = await self._sessions.get(session_id)
        return {**_summary(await self._sessions.get(session_id)), **await self._outcome(session_id)}

    async def _outcome(self, session_id: str) -> dict[str, object]:
        """The end of the latest turn, its last message, and what it asks."""
        page = await self._sessions.events(session_id, EventsRequest(order="desc", limit=100, types=_OUTCOME))
        outcome: dict[str, object] = {}
        for body in page.split():
            match decode_event(body).data:
                case TurnEnded() as ended:
                    outcome = {"stop_reason": ended.stop_reason, "error": ended.error}
                case TurnStarted():
                    break
                case ItemCompleted(item=item) if item.role == "assistant" and item.kind == "message" and text_of(item):
                    outcome["text"] = _cut(text_of(item))
                    break
                case _:
                    continue
        asks = await self._sessions.asks(session_id, pending=True)
        return {**outcome, "asks": [{"ask_id": ask.ask_id, "kind": ask.kind, "request": ask.request} for ask in asks]}

    async def _read(self, given: inputs.ReadSession) -> object:
        request = EventsRequest(after=given.after, limit=given.limit, types=("item.completed",))
        page = await self._sessions.events(given.session_id, request)
        events = [decode_event(body) for body in page.split()]
        items = [_entry(event.data.item) for event in events if isinstance(event.data, ItemCompleted)]
        return {"items": items, "last": page.last or given.after, "more": page.more}


def _depth_of(info: SessionInfo) -> int:
    depth = info.metadata.get(DEPTH, "")
    return int(depth) if depth.isdecimal() and len(depth) < 4 else 0


def _busy(info: SessionInfo) -> bool:
    return not info.pending_asks and (info.status in ("running", "waiting") or info.queued_messages > 0)


def _summary(info: SessionInfo) -> dict[str, object]:
    return {
        "session_id": info.session_id,
        "agent": info.agent,
        "status": info.status,
        "title": info.title,
        "directory": info.directory,
        "cost_usd": info.cost_usd,
    }


def _entry(item: Item) -> dict[str, object]:
    calls = [part for part in item.content if isinstance(part, ToolCallPart)]
    results = [part.output for part in item.content if isinstance(part, ToolResultPart)]
    texts: Sequence[str] = (text_of(item), reasoning_of(item), *(call.arguments for call in calls), *results)
    entry: dict[str, object] = {"kind": item.kind, "role": item.role, "name": item.name, "status": item.status}
    if calls:
        entry["name"] = calls[0].name
    return {**entry, "text": _cut("\n".join(text for text in texts if text))}


def _with_tools(text: str) -> str:
    """The text of an error, with tools in place of the routes that it names."""
    for route, tool in _TOOLS.items():
        text = text.replace(route, tool)
    return text


def _cut(text: str) -> str:
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}\n[{len(text) - MAX_TEXT} more characters]"


def _answer(given: inputs.AnswerAsk) -> Answer:
    if given.reply is not None:
        return PermissionAnswer(reply=given.reply, message=given.message)
    return QuestionAnswer(answers=given.answers, message=given.message)
