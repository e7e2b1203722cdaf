"""Sessions and asks as clients see them."""

import msgspec

from everyagent.clock import millis
from everyagent.log.log import AskRecord, SessionRecord
from everyagent.model.sessions import AskInfo, SessionInfo
from everyagent.sessions.ask_deadlines import deadline_of
from everyagent.sessions.launch.config import config_of


def info_of(record: SessionRecord) -> SessionInfo:
    config = config_of(record)
    return SessionInfo(
        session_id=record.session_id,
        agent=record.agent,
        agent_mode=record.agent_mode,
        permission_mode=record.permission_mode,
        model=record.model,
        variant=record.variant,
        native_session_id=record.native_session_id,
        status=record.status,
        ended=record.status == "ended",
        event_count=record.last_sequence,
        created_at=record.created_at // 1000,
        updated_at=record.updated_at // 1000,
        directory=config.directory or None,
        title=record.shown_title,
        metadata=record.metadata,
        env=config.env,
        mcp=config.mcp,
        tools=[tool.name for tool in config.tools],
        tool_policies=config.tool_policies,
        allowed_hosts=config.allowed_hosts,
        isolation=config.isolation,
        lifetime=config.lifetime,
        limits=config.limits,
        turn_timeout=config.turn_timeout,
        ask_timeout=config.ask_timeout,
        budget_usd=config.budget_usd,
        budget_tokens=config.budget_tokens,
        system_prompt=config.system_prompt,
        usage=record.usage,
        cost_usd=record.cost_usd,
        pending_asks=record.pending_asks,
        queued_messages=record.queued_inputs,
        forked_from=config.forked_from,
        runner=config.runner,
        checkpoints=config.checkpoints,
        worktree=config.worktree.info if config.worktree else None,
    )


def ask_info_of(ask: AskRecord) -> AskInfo:
    expires_at = deadline_of(ask.request)
    return AskInfo(
        ask_id=ask.ask_id,
        kind=ask.kind,
        session_id=ask.session_id,
        sequence=ask.sequence,
        asked_at=ask.asked_at // 1000,
        expires_at=None if expires_at is None else millis(expires_at),
        pending=ask.answer is None,
        request=msgspec.json.decode(ask.request),
        answer=msgspec.json.decode(ask.answer) if ask.answer else None,
    )
