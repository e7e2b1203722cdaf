"""Capabilities and catalog of Amp. Amp chooses the model itself, by its mode."""

from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.agents.amp.modes import AGENT_MODES, DEFAULT_VARIANT, PERMISSION_MODES, VARIANTS
from everyagent.agents.amp.policies import TOOLS
from everyagent.agents.catalogs import CODING_AGENT
from everyagent.model.agents import Model

CAPABILITIES = replace(
    CODING_AGENT,
    message_echo=True,
    questions=False,
    status=False,
    streaming_deltas=False,
    item_started=False,
    subagents=False,
    subagent_interrupt=False,
    model_change=False,
    system_messages=False,
)
CATALOG = Catalog(
    models=[Model(id="amp", name="Amp", variants=VARIANTS, default_variant=DEFAULT_VARIANT)],
    default_model="amp",
    agent_modes=AGENT_MODES,
    permission_modes=PERMISSION_MODES,
    tools=TOOLS,
    sandbox="shell",
)
