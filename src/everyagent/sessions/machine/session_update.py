"""Turns a request to change a session into a batch. Pure."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Catalog, Change
from everyagent.log.log import SessionRecord
from everyagent.model.events import SessionUpdated
from everyagent.model.sessions import UpdateSession
from everyagent.sessions.launch.agents import choose
from everyagent.sessions.launch.allowed_hosts import refuse_unkept
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.launch.tool_policies import enforceable
from everyagent.sessions.machine.inputs import Batch


def update_batch(record: SessionRecord, request: UpdateSession, adapter: Adapter, catalog: Catalog) -> Batch | None:
    """None if nothing changes."""
    model = record.model if request.model is UNSET else request.model
    keep_variant = request.model is UNSET or request.variant is not UNSET
    choice = choose(
        catalog,
        model=model,
        variant=request.variant if request.variant is not UNSET else record.variant if keep_variant else None,
        agent_mode=record.agent_mode if request.agent_mode is UNSET else request.agent_mode,
        permission_mode=record.permission_mode if request.permission_mode is UNSET else request.permission_mode,
    )
    metadata = record.metadata
    if request.metadata is not UNSET:
        merged = {**metadata, **request.metadata}
        metadata = {key: value for key, value in merged.items() if value is not None}
    new = replace(
        record,
        model=choice.model,
        variant=choice.variant,
        agent_mode=choice.agent_mode,
        permission_mode=choice.permission_mode,
        title=record.title if request.title is UNSET else request.title,
        metadata=metadata,
    )
    updated = msgspec.convert(_changed(record, new, _ROW & {*SessionUpdated.__struct_fields__}), SessionUpdated)
    change = msgspec.convert(_changed(record, new, _ROW & {*Change.__struct_fields__}), Change)
    config = config_of(record)
    refuse_unkept(config.allowed_hosts, choice.permission_mode, adapter.title, catalog)
    if request.tool_policies is not UNSET and request.tool_policies != config.tool_policies:
        policies = enforceable(request.tool_policies, adapter, catalog, config.tools)
        config = replace(config, tool_policies=policies)
        updated, change = replace(updated, tool_policies=policies), replace(change, policies=policies)
    for name in ("ask_timeout", "budget_usd", "budget_tokens"):
        asked = getattr(request, name)
        if asked is not UNSET and asked != getattr(config, name):
            config, updated = replace(config, **{name: asked}), replace(updated, **{name: asked})
    if updated == SessionUpdated():
        return None
    return Batch(
        frame=msgspec.json.encode({"request": "update", "changes": updated}),
        updated=updated,
        change=None if change == Change() else change,
        config=msgspec.json.encode(config),
    )


_ROW = frozenset(SessionRecord.__struct_fields__)


def _changed(old: SessionRecord, new: SessionRecord, names: Iterable[str]) -> dict[str, object]:
    return {name: getattr(new, name) for name in names if getattr(new, name) != getattr(old, name)}
