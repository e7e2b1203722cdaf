"""A session's row as clients see it."""

from everyagent.log.log import SessionRecord
from everyagent.model.sessions import SessionInfo
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
        worktree=config.worktree.info if config.worktree else None,
    )
