"""Calls that create, list, change, message, stop, fork and search sessions."""

from collections.abc import Mapping, Sequence

from msgspec import UNSET, UnsetType

from everyagent.client.call import ApiCall, ApiResponse, decoded, get, nothing, params, path, post
from everyagent.model.asks import AskTimeout
from everyagent.model.events import SessionStatus
from everyagent.model.isolation import IsolationChoice
from everyagent.model.limits import NO_LIMITS, AgentLimits
from everyagent.model.policies import UNRESTRICTED, ToolPolicies
from everyagent.model.responses import Cancelled, MessageQueue, SearchHits, SessionPage
from everyagent.model.runners import RunnerChoice
from everyagent.model.sessions import (
    Attachment,
    CreateSession,
    Delivery,
    ForkSession,
    Lifetime,
    QueuedMessage,
    SearchHit,
    SendMessage,
    SessionInfo,
    UpdateSession,
)
from everyagent.model.tools import CustomTool, McpServer

_info = decoded(SessionInfo)
_page = decoded(SessionPage)
_cancelled = decoded(Cancelled)
_hits = decoded(SearchHits)
_queue = decoded(MessageQueue)


def sessions(
    *,
    status: SessionStatus | None = None,
    agent: str | None = None,
    directory: str | None = None,
    metadata: Mapping[str, str] | None = None,
    since: str | None = None,
    until: str | None = None,
    limit: int | None = None,
    page: str | None = None,
) -> ApiCall[SessionPage]:
    """A page of sessions, newest first. `page` is the `next_page` of the page before.

    All pairs of `metadata` must be there. `since` and `until` are RFC 3339 times of the creation.
    """
    pairs = ",".join(f"{key}:{value}" for key, value in (metadata or {}).items()) or None
    chosen = params(status=status, agent=agent, directory=directory, metadata=pairs, since=since, until=until)
    return get(path("sessions"), _page, {**chosen, **params(limit=limit, page=page)})


def session(session_id: str) -> ApiCall[SessionInfo]:
    """A session: its settings, status, usage and cost."""
    return get(path("sessions", session_id), _info)


def create(
    session_id: str | None = None,
    *,
    agent: str | None = None,
    agent_mode: str | None = None,
    permission_mode: str | None = None,
    model: str | None = None,
    variant: str | None = None,
    directory: str | None = None,
    title: str | None = None,
    env: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    mcp: Mapping[str, McpServer] | None = None,
    tools: Sequence[CustomTool] = (),
    tool_policies: ToolPolicies = UNRESTRICTED,
    allowed_hosts: Sequence[str] | None = None,
    isolation: IsolationChoice | None = None,
    lifetime: Lifetime = "open",
    limits: AgentLimits = NO_LIMITS,
    turn_timeout: float | None = None,
    ask_timeout: AskTimeout | None = None,
    budget_usd: float | None = None,
    budget_tokens: int | None = None,
    system_prompt: str | None = None,
    metadata: Mapping[str, str] | None = None,
    runner: RunnerChoice | None = None,
    worktree: bool = False,
    checkpoints: bool = False,
) -> ApiCall[SessionInfo]:
    """Create a session. Without an id the daemon generates one; without an agent it uses its default agent."""
    request = CreateSession(
        agent=agent,
        agent_mode=agent_mode,
        permission_mode=permission_mode,
        model=model,
        variant=variant,
        directory=directory,
        title=title,
        env=dict(env or {}),
        secrets=dict(secrets or {}),
        runner=runner,
        worktree=worktree,
        checkpoints=checkpoints,
        mcp=dict(mcp or {}),
        tools=list(tools),
        tool_policies=tool_policies,
        allowed_hosts=None if allowed_hosts is None else list(allowed_hosts),
        isolation=isolation,
        lifetime=lifetime,
        limits=limits,
        turn_timeout=turn_timeout,
        ask_timeout=ask_timeout,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
        system_prompt=system_prompt,
        metadata=dict(metadata or {}),
    )
    return post(path("sessions") if session_id is None else path("sessions", session_id), _info, request)


def update(
    session_id: str,
    *,
    agent_mode: str | UnsetType = UNSET,
    permission_mode: str | UnsetType = UNSET,
    model: str | UnsetType | None = UNSET,
    variant: str | UnsetType | None = UNSET,
    title: str | UnsetType | None = UNSET,
    metadata: Mapping[str, str | None] | UnsetType = UNSET,
    tool_policies: ToolPolicies | UnsetType = UNSET,
    ask_timeout: AskTimeout | UnsetType | None = UNSET,
    budget_usd: float | UnsetType | None = UNSET,
    budget_tokens: int | UnsetType | None = UNSET,
) -> ApiCall[SessionInfo]:
    """Change the given settings of a session. A metadata value of None removes that key."""
    request = UpdateSession(
        agent_mode=agent_mode,
        permission_mode=permission_mode,
        model=model,
        variant=variant,
        title=title,
        metadata=UNSET if isinstance(metadata, UnsetType) else dict(metadata),
        tool_policies=tool_policies,
        ask_timeout=ask_timeout,
        budget_usd=budget_usd,
        budget_tokens=budget_tokens,
    )
    call = post(path("sessions", session_id), _info, request)
    return ApiCall(method="PATCH", path=call.path, decode=_info, body=call.body)


def delete(session_id: str) -> ApiCall[str | None]:
    """Delete a session with its events and frames. Returns where its work is, if its worktree had some to merge."""
    return ApiCall(method="DELETE", path=path("sessions", session_id), decode=_warning)


def send(
    session_id: str,
    message: str,
    *,
    attachments: Sequence[Attachment] = (),
    delivery: Delivery = "queue",
    key: str | None = None,
) -> ApiCall[str]:
    """Queue a message. Returns the id of the message's item as soon as the message is stored."""
    request = SendMessage(message=message, attachments=list(attachments), delivery=delivery)
    return post(path("sessions", session_id, "messages"), _item_id, request, key=key)


def queue(session_id: str) -> ApiCall[list[QueuedMessage]]:
    """The messages that wait for their turn, next first."""
    return get(path("sessions", session_id, "messages", "queue"), lambda response: _queue(response).messages)


def withdraw(session_id: str, item_id: str) -> ApiCall[None]:
    """Withdraw a message that waits for its turn."""
    return ApiCall(method="DELETE", path=path("sessions", session_id, "messages", "queue", item_id), decode=nothing)


def cancel(session_id: str) -> ApiCall[bool]:
    """Stop the running turn and keep the session. False if no turn was running."""
    return post(path("sessions", session_id, "cancel"), _was_cancelled)


def cancel_subagent(session_id: str, item_id: str) -> ApiCall[bool]:
    """Stop the sub-agent that a tool call started; the turn continues. False if it was not running."""
    return post(path("sessions", session_id, "subagents", item_id, "cancel"), _was_cancelled)


def terminate(session_id: str) -> ApiCall[None]:
    """End the session and its whole process tree. Can be repeated."""
    return post(path("sessions", session_id, "terminate"), nothing)


def fork(
    session_id: str,
    *,
    new_id: str | None = None,
    sequence: int | None = None,
    title: str | None = None,
    agent: str | None = None,
    model: str | None = None,
) -> ApiCall[SessionInfo]:
    """Copy a session up to `sequence`, or whole, into a new one."""
    request = ForkSession(session_id=new_id, sequence=sequence, title=title, agent=agent, model=model)
    return post(path("sessions", session_id, "fork"), _info, request)


def search(text: str, *, session_id: str | None = None, limit: int | None = None) -> ApiCall[list[SearchHit]]:
    """Search the transcripts of all sessions, or of one."""
    return get(path("search"), _hit_list, params(q=text, session=session_id, limit=limit))


def _warning(response: ApiResponse) -> str | None:
    return response.headers.get("x-everyagent-warning")


def _item_id(response: ApiResponse) -> str:
    return response.headers.get("x-item-id", "")


def _was_cancelled(response: ApiResponse) -> bool:
    return _cancelled(response).cancelled


def _hit_list(response: ApiResponse) -> list[SearchHit]:
    return _hits(response).hits
