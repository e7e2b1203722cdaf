"""Plans the changes of a `sessions.update` against the session's current state. Pure."""

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Catalog
from everyagent.errors import Conflict
from everyagent.log.log import SessionRecord
from everyagent.managed.field_limits import merged_metadata
from everyagent.managed.projection.commands import CommandFrame, SessionChanged
from everyagent.managed.projection.projector import Projector
from everyagent.managed.resources.agents.shape import SessionAgent
from everyagent.managed.resources.agents.store import changed_for_session
from everyagent.managed.resources.agents.tool_policies import custom_tools, fitted, policies_of
from everyagent.managed.sessions.budgets import refuse_spent
from everyagent.managed.sessions.shape import SessionUpdate
from everyagent.model.events import SessionUpdated
from everyagent.model.parts import Object
from everyagent.model.prices import Prices
from everyagent.sessions.launch.config import config_of
from everyagent.sessions.launch.known_costs import require_known_costs
from everyagent.sessions.launch.tool_policies import enforceable
from everyagent.sessions.machine.inputs import Batch


class Changing:
    """One request. `plan` is called when it is the request's turn."""

    def __init__(self, asked: SessionUpdate, adapter: Adapter, catalog: Catalog, prices: Prices) -> None:
        self._asked = asked
        self._adapter = adapter
        self._catalog = catalog
        self._prices = prices

    def plan(self, projection: Projector, record: SessionRecord) -> Batch | None:
        """None if nothing changes."""
        changes: dict[str, object] = {}
        agent = self._agent(projection)
        if agent:
            changes["agent"] = msgspec.to_builtins(agent)
        budget = self._budget(projection, record)
        if budget is not UNSET:
            changes["budget"] = budget
        vault_ids = self._vault_ids(projection)
        if vault_ids is not None:
            changes["vault_ids"] = vault_ids
        universal = self._universal(record)
        if not changes and not universal:
            return None
        return Batch(
            frame=msgspec.json.encode(CommandFrame(managed=SessionChanged(**changes))),  # pyright: ignore[reportArgumentType]
            updated=SessionUpdated(**universal) if universal else None,  # pyright: ignore[reportArgumentType]
            config=self._config(record, agent, self_hosted=projection.document.self_hosted) if agent else None,
            restart=agent is not None or vault_ids is not None,
        )

    def _agent(self, projection: Projector) -> SessionAgent | None:
        if self._asked.agent is UNSET:
            return None
        agent = msgspec.convert(projection.document.agent, SessionAgent)
        changed = changed_for_session(agent, self._asked.agent.tools, self._asked.agent.mcp_servers)
        if changed == agent:
            return None
        _require_idle(projection, "Tools and MCP servers")
        return changed

    def _vault_ids(self, projection: Projector) -> list[str] | None:
        """The new vaults; None if they stay. The agent is started again with what they give."""
        if self._asked.vault_ids is UNSET or (self._asked.vault_ids or []) == projection.document.vault_ids:
            return None
        _require_idle(projection, "Vaults")
        return self._asked.vault_ids or []

    def _budget(self, projection: Projector, record: SessionRecord) -> Object | msgspec.UnsetType | None:
        asked = self._asked.budget
        budget: Object | None = msgspec.to_builtins(asked) if asked else None
        if asked is UNSET or budget == projection.document.budget:
            return UNSET
        if asked:
            require_known_costs(self._adapter, self._catalog, record.model, self._prices)
            refuse_spent(asked, projection.state.cost_usd + projection.state.spent_usd)
        return budget

    def _universal(self, record: SessionRecord) -> dict[str, object]:
        """The changes of fields that the universal session has, too."""
        universal: dict[str, object] = {}
        if self._asked.title is not UNSET and self._asked.title != record.title:
            universal["title"] = self._asked.title
        if self._asked.metadata is not UNSET:
            metadata = merged_metadata(record.metadata, self._asked.metadata)
            if metadata != record.metadata:
                universal["metadata"] = metadata
        return universal

    def _config(self, record: SessionRecord, agent: SessionAgent, *, self_hosted: bool) -> bytes:
        tools = custom_tools(agent.tools, self_hosted=self_hosted)
        policies = fitted(policies_of(agent.tools, self_hosted=self_hosted), self._catalog)
        policies = enforceable(policies, self._adapter, self._catalog, tools)
        return msgspec.json.encode(replace(config_of(record), tools=tools, tool_policies=policies))


def _require_idle(projection: Projector, what: str) -> None:
    if projection.state.status != "idle":
        raise Conflict(
            f"{what} are changed while the session is idle. Interrupt it, or wait.", error_code="session_running"
        )
