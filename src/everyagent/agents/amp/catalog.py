"""What Amp can do, and what can be chosen. Which model works is Amp's own choice, by its mode."""

from everyagent.agents.adapter import Capabilities, Catalog, Model
from everyagent.agents.amp.modes import AGENT_MODES, DEFAULT_VARIANT, PERMISSION_MODES, VARIANTS
from everyagent.agents.amp.policies import TOOLS

CAPABILITIES = Capabilities(
    plan_mode=True,
    permissions=True,
    questions=False,
    tool_calls=True,
    tool_results=True,
    text_messages=True,
    images=True,
    file_attachments=True,
    session_lifecycle=True,
    error_events=True,
    reasoning=True,
    status=False,
    command_execution=True,
    file_changes=True,
    mcp_tools=True,
    streaming_deltas=False,
    item_started=False,
    shared_process=False,
    variants=True,
    custom_tools=True,
    subagents=False,
    usage=True,
    steering=True,
    resume=True,
    system_prompt=True,
    model_change=False,
    mode_change=True,
    tool_policies=True,
    own_tools_off=True,
)
CATALOG = Catalog(
    models=[Model(id="amp", name="Amp", variants=VARIANTS, default_variant=DEFAULT_VARIANT)],
    default_model="amp",
    agent_modes=AGENT_MODES,
    permission_modes=PERMISSION_MODES,
    tools=TOOLS,
    sandbox="shell",
)
