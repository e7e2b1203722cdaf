"""The models of all installed agents, in the form of Anthropic's Models API."""

from typing import Literal

import anyio
from msgspec import Struct

from everyagent.errors import EveryagentError
from everyagent.logs import get_logger
from everyagent.sessions import Agents

logger = get_logger(__name__)
#: Agents do not report when a model was released.
_UNKNOWN_RELEASE = "1970-01-01T00:00:00Z"


class AvailableModel(Struct, frozen=True, kw_only=True):
    id: str
    display_name: str
    type: Literal["model"] = "model"
    created_at: str = _UNKNOWN_RELEASE
    lifecycle: Literal["active"] = "active"
    max_input_tokens: int | None = None
    max_tokens: int | None = None


async def available_models(agents: Agents) -> list[AvailableModel]:
    """Each model once, in the order of the agents. An agent that cannot list its models is left out and logged."""
    found: dict[str, list[AvailableModel]] = {}

    async def ask(agent: str) -> None:
        try:
            catalog = await agents.models(agent)
        except EveryagentError as error:
            logger.warning("the models of an agent are unknown", agent=agent, reason=error.detail)
            return
        found[agent] = [AvailableModel(id=model.id, display_name=model.name or model.id) for model in catalog.models]

    installed = [agent for agent, state in (await agents.states()).items() if state.installed]
    async with anyio.create_task_group() as tasks:
        for agent in installed:
            tasks.start_soon(ask, agent)
    models = [model for agent in installed for model in found.get(agent, [])]
    return list({model.id: model for model in reversed(models)}.values())[::-1]
