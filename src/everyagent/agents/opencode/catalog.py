"""Capabilities and catalog of OpenCode. The program itself lists its models and agents."""

from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.agents.catalogs import CODING_AGENT
from everyagent.agents.opencode.policy.modes import AGENT_MODES, PERMISSION_MODES
from everyagent.agents.opencode.policy.policies import TOOLS
from everyagent.agents.opencode.protocol import wire
from everyagent.agents.opencode.protocol.rest import Rest, read
from everyagent.model.agents import Mode, Model

CAPABILITIES = replace(CODING_AGENT, shared_process=True, message_echo=True, cost=True)
#: The default agent.
_FIRST = "build"


def catalog(providers: list[wire.Provider], agents: list[wire.OpencodeAgent], default: str | None) -> Catalog:
    """Any model name is taken: the session's own directory or configuration may offer others."""
    modes = [
        Mode(id=agent.name, name=agent.name.capitalize(), description=agent.description or "")
        for agent in agents
        if agent.mode != "subagent" and not agent.hidden
    ]
    return Catalog(
        models=[
            Model(
                id=f"{provider.id}/{model.id}",
                name=model.name,
                variants=list(model.variants),
                costs=bool(model.cost.input or model.cost.output),
            )
            for provider in providers
            for model in provider.models.values()
        ],
        default_model=default,
        agent_modes=sorted(modes, key=lambda mode: mode.id != _FIRST) or AGENT_MODES,
        permission_modes=PERMISSION_MODES,
        open_models=True,
        tools=TOOLS,
        sandbox="shell",
    )


#: The catalog without models and agents, if the program cannot list them.
UNASKED = catalog([], [], None)


async def asked(rest: Rest, directory: str) -> Catalog:
    """Raises `AgentFailed`."""
    providers = await rest.ask("GET", "/config/providers", directory)
    agents = await rest.ask("GET", "/agent", directory)
    config = await rest.ask("GET", "/config", directory)
    return catalog(
        read(providers, wire.Providers).providers,
        read(agents, list[wire.OpencodeAgent]),
        read(config, wire.OpencodeConfig).model,
    )
