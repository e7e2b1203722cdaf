"""Capabilities and catalog of Codex. The program itself lists its models."""

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.agents.catalogs import CODING_AGENT
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.codex.policy.choices import Defaults
from everyagent.agents.codex.policy.modes import AGENT_MODES, PERMISSION_MODES, SANDBOX_MODES
from everyagent.agents.codex.policy.policies import TOOLS
from everyagent.agents.codex.protocol import wire_responses
from everyagent.agents.shared_servers import ServerKey
from everyagent.agents.supervision import TaskSupervisor
from everyagent.errors import AgentFailed
from everyagent.logs import get_logger
from everyagent.model.agents import Model
from everyagent.runtime.reaper import Reaper

CAPABILITIES = replace(CODING_AGENT, shared_process=True, message_echo=True)

logger = get_logger(__name__)
_models = msgspec.json.Decoder(wire_responses.CodexModelList)
_configured = msgspec.json.Decoder(wire_responses.Configured)


def catalog(models: list[wire_responses.CodexModel]) -> Catalog:
    """Any model name is taken: a provider of the user's own may have others."""
    return Catalog(
        models=[
            Model(
                id=model.id,
                name=model.display_name,
                variants=[each.reasoning_effort for each in model.supported_reasoning_efforts],
                default_variant=model.default_reasoning_effort,
            )
            for model in models
            if not model.hidden
        ],
        default_model=next((model.id for model in models if model.is_default), None),
        agent_modes=AGENT_MODES,
        permission_modes=PERMISSION_MODES,
        open_models=True,
        tools=TOOLS,
        sandbox="own",
        sandbox_modes=SANDBOX_MODES,
    )


#: The catalog without models, if the program cannot list them.
UNASKED = catalog([])


async def asked(key: ServerKey, tasks: TaskSupervisor, reaper: Reaper) -> Catalog:
    """Start the program to ask for its models. Raises `AgentFailed`."""
    server = await AppServer.ready(key, tasks, reaper)
    try:
        return catalog(await models(server))
    finally:
        await server.discard()


async def models(server: AppServer) -> list[wire_responses.CodexModel]:
    listed: list[wire_responses.CodexModel] = []
    cursor: str | None = None
    while True:
        page = _models.decode(await server.request("model/list", {"cursor": cursor} if cursor else {}))
        listed += page.data
        cursor = page.next_cursor
        if not cursor:
            return listed


async def defaults(server: AppServer, directory: str) -> Defaults | None:
    """The defaults of the user's configuration, else of the program; None if it does not report them.

    Not requested in a session: the response has the user's whole configuration, and a session's frames are stored.
    """
    try:
        config = _configured.decode(await server.request("config/read", {"cwd": directory})).config
        model = config.model or next((each.id for each in await models(server) if each.is_default), None)
    except (AgentFailed, msgspec.MsgspecError) as problem:
        logger.warning("codex did not report its defaults", error=str(problem))
        return None
    return Defaults(model=model, effort=config.model_reasoning_effort) if model else None
