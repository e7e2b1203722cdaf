"""The methods of an ACP agent, on sessions of the daemon."""

from datetime import UTC, datetime

from msgspec import Raw, Struct

from everyagent import __version__
from everyagent.cli.acp import wire
from everyagent.cli.acp.choices import change, choices_of
from everyagent.cli.acp.peer import FAILED, INVALID_PARAMS, UNKNOWN_METHOD, RpcFailure, decoded
from everyagent.cli.acp.prompts import message_of, servers_of
from everyagent.cli.acp.session import EditorSession, Link
from everyagent.model.events import StopReason, TurnEnded
from everyagent.model.isolation import IsolationChoice
from everyagent.model.sessions import SessionInfo

_STOPS: dict[StopReason, str] = {
    "end_turn": "end_turn",
    "interrupted": "cancelled",
    "terminated": "cancelled",
    "max_turns": "max_turn_requests",
    "max_tokens": "max_tokens",
    "refusal": "refusal",
}
_CAPABILITIES: dict[str, object] = {
    "loadSession": True,
    "promptCapabilities": {"image": True, "audio": False, "embeddedContext": True},
    "mcpCapabilities": {"http": True, "sse": True},
    "sessionCapabilities": {"list": {}, "resume": {}, "fork": {}, "close": {}, "delete": {}},
}


class NewSessions(Struct, frozen=True, kw_only=True):
    """The agent and the settings of the sessions that the editor makes."""

    agent: str
    model: str | None = None
    permission_mode: str | None = None
    isolation: IsolationChoice | None = None


class AcpAgent:
    def __init__(self, link: Link, new: NewSessions) -> None:
        self._link = link
        self._new = new
        self._sessions: dict[str, EditorSession] = {}

    async def handle(self, method: str, params: Raw) -> object:
        """The result of a request. Notifications have none."""
        match method:
            case "initialize":
                return self._initialize(decoded(params, wire.Initialize))
            case "session/new":
                return await self._create(decoded(params, wire.OpenSession))
            case "session/load":
                return await self._load(decoded(params, wire.OpenSession), replay=True)
            case "session/resume":
                return await self._load(decoded(params, wire.OpenSession), replay=False)
            case "session/fork":
                return await self._fork(decoded(params, wire.OpenSession))
            case "session/list":
                return await self._list(decoded(params, wire.ListSessionsParams))
            case "session/prompt":
                return await self._prompt(decoded(params, wire.PromptParams))
            case "session/cancel":
                return await (await self._session(decoded(params, wire.OnSession).session_id)).cancel()
            case "session/set_mode":
                return await self._set_mode(decoded(params, wire.SetMode))
            case "session/set_config_option":
                return await self._set_option(decoded(params, wire.SetOption))
            case "session/close":
                return await self._close(decoded(params, wire.OnSession).session_id)
            case "session/delete":
                return await self._delete(decoded(params, wire.OnSession).session_id)
            case "authenticate":
                raise RpcFailure(INVALID_PARAMS, "No login is needed: the daemon's token is used.")
            case _:
                raise RpcFailure(UNKNOWN_METHOD, f"There is no method {method}.")

    def _initialize(self, request: wire.Initialize) -> object:
        capabilities = request.client_capabilities or wire.EditorCapabilities()
        forms = capabilities.elicitation is not None and capabilities.elicitation.form is not None
        self._link = Link(self._link.client, self._link.peer, self._link.tasks, forms)
        return {
            "protocolVersion": wire.PROTOCOL_VERSION,
            "agentCapabilities": _CAPABILITIES,
            "agentInfo": {"name": "everyagent", "title": f"{self._new.agent} (everyagent)", "version": __version__},
            "authMethods": [],
        }

    # -- sessions -------------------------------------------------------------------------------------------------

    async def _create(self, request: wire.OpenSession) -> object:
        info = await self._link.client.create(
            agent=self._new.agent,
            model=self._new.model,
            permission_mode=self._new.permission_mode,
            isolation=self._new.isolation,
            directory=request.cwd,
            mcp=servers_of(request.mcp_servers or []),
        )
        session = await self._open(info, info.event_count)
        return {"sessionId": session.id, **session.choices.shown(info)}

    async def _load(self, request: wire.OpenSession, *, replay: bool) -> object:
        """Sessions keep their directory and MCP servers, so those of the request are not used."""
        info = await self._link.client.session(request.session_id)
        if known := self._sessions.pop(info.session_id, None):
            known.close()
        session = await self._open(info, info.event_count, replay=replay)
        return session.choices.shown(info)

    async def _fork(self, request: wire.OpenSession) -> object:
        info = await self._link.client.fork(request.session_id)
        session = await self._open(info, info.event_count)
        return {"sessionId": session.id, **session.choices.shown(info)}

    async def _list(self, request: wire.ListSessionsParams) -> object:
        page = await self._link.client.sessions(agent=self._new.agent, page=request.cursor)
        listed = [
            {
                "sessionId": info.session_id,
                "cwd": info.directory or "/",
                "title": info.title,
                "updatedAt": datetime.fromtimestamp(info.updated_at / 1000, UTC).isoformat(),
            }
            for info in page.sessions
            if not info.ended and request.cwd in (None, info.directory)
        ]
        return {"sessions": listed, "nextCursor": page.next_page}

    async def _close(self, session_id: str) -> object:
        """Stop the turn. The session stays in the daemon, and can be loaded again."""
        session = await self._session(session_id)
        await session.cancel()
        self._forget(session_id)
        return {}

    async def _delete(self, session_id: str) -> object:
        self._forget(session_id)
        await self._link.client.delete(session_id)
        return {}

    def _forget(self, session_id: str) -> None:
        if session := self._sessions.pop(session_id, None):
            session.close()

    async def _open(self, info: SessionInfo, offset: int, *, replay: bool = False) -> EditorSession:
        choices = await choices_of(self._link.client, info.agent)
        session = EditorSession(self._link, info, choices, offset)
        if replay:
            await session.replay(offset)
        self._sessions[info.session_id] = session
        session.follow()
        return session

    async def _session(self, session_id: str) -> EditorSession:
        """A session that is not open here, because this program was started again, is opened without its history."""
        if session := self._sessions.get(session_id):
            return session
        info = await self._link.client.session(session_id)
        return self._sessions.get(session_id) or await self._open(info, info.event_count)

    # -- settings and prompts -------------------------------------------------------------------------------------

    async def _set_mode(self, request: wire.SetMode) -> object:
        session = await self._session(request.session_id)
        await self._link.client.update(session.id, permission_mode=request.mode_id)
        return {}

    async def _set_option(self, request: wire.SetOption) -> object:
        session = await self._session(request.session_id)
        changes = change(request.config_id, request.value)
        if changes is None:
            raise RpcFailure(INVALID_PARAMS, f"There is no option {request.config_id!r}.")
        info = await self._link.client.update(session.id, **changes)
        return {"configOptions": session.choices.options(info)}

    async def _prompt(self, request: wire.PromptParams) -> object:
        session = await self._session(request.session_id)
        return _result(await session.prompt(message_of(request.prompt)))


def _result(ended: TurnEnded) -> object:
    stop = _STOPS.get(ended.stop_reason)
    if stop is None:
        raise RpcFailure(FAILED, ended.error or f"The turn ended: {ended.stop_reason}.")
    result: dict[str, object] = {"stopReason": stop}
    if usage := ended.usage:
        counts = {
            "inputTokens": usage.input_tokens,
            "outputTokens": usage.output_tokens,
            "cachedReadTokens": usage.cache_read_tokens,
            "cachedWriteTokens": usage.cache_write_tokens,
        }
        result["usage"] = {
            **counts,
            "thoughtTokens": usage.reasoning_tokens,
            "totalTokens": sum(counts.values()),
        }
    return result
