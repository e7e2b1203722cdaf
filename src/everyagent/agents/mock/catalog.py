"""Capabilities and catalog of the mock agent."""

from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.agents.catalogs import CODING_AGENT, modes
from everyagent.model.agents import Model
from everyagent.model.policies import TOOLS, AgentTool

CAPABILITIES = replace(CODING_AGENT, cost=True)

_VARIANTS = ["low", "high"]

CATALOG = Catalog(
    models=[
        Model(id="mock-small", name="Mock Small", variants=_VARIANTS, default_variant="low"),
        Model(id="mock-large", name="Mock Large", variants=_VARIANTS, default_variant="low"),
    ],
    default_model="mock-small",
    costs=True,
    agent_modes=modes(
        {
            "build": "Does what the directives say",
            "plan": "Refuses every tool call",
        }
    ),
    permission_modes=modes(
        {
            "default": "Asks before [ask] and [diff]",
            "plan": "Refuses every tool call",
            "acceptEdits": "Asks before [ask], edits at once",
            "bypass": "Asks for no permission",
        }
    ),
    tools=[*(AgentTool(name=name, kinds=[name]) for name in TOOLS), AgentTool(name="task")],
    open_tools=True,
    sandbox="shell",
)
