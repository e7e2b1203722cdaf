"""What the mock can do, and what can be chosen."""

from everyagent.agents.adapter import Capabilities, Catalog, Mode, Model
from everyagent.model.policies import TOOLS, AgentTool

CAPABILITIES = Capabilities(
    plan_mode=True,
    permissions=True,
    questions=True,
    tool_calls=True,
    tool_results=True,
    text_messages=True,
    images=True,
    file_attachments=True,
    session_lifecycle=True,
    error_events=True,
    reasoning=True,
    status=True,
    command_execution=True,
    file_changes=True,
    mcp_tools=True,
    streaming_deltas=True,
    item_started=True,
    shared_process=False,
    variants=True,
    custom_tools=True,
    subagents=True,
    subagent_interrupt=True,
    usage=True,
    cost=True,
    steering=True,
    resume=True,
    system_prompt=True,
    model_change=True,
    mode_change=True,
    tool_policies=True,
    own_tools_off=True,
)

_VARIANTS = ["low", "high"]

CATALOG = Catalog(
    models=[
        Model(id="mock-small", name="Mock Small", variants=_VARIANTS, default_variant="low"),
        Model(id="mock-large", name="Mock Large", variants=_VARIANTS, default_variant="low"),
    ],
    default_model="mock-small",
    agent_modes=[
        Mode(id="build", name="Build", description="Does what the directives say"),
        Mode(id="plan", name="Plan", description="Refuses every tool call"),
    ],
    permission_modes=[
        Mode(id="default", name="Default", description="Asks before [ask] and [diff]"),
        Mode(id="plan", name="Plan", description="Refuses every tool call"),
        Mode(id="acceptEdits", name="Accept edits", description="Asks before [ask], edits at once"),
        Mode(id="bypass", name="Bypass", description="Asks for no permission"),
    ],
    tools=[*(AgentTool(name=name, kinds=[name]) for name in TOOLS), AgentTool(name="task")],
    open_tools=True,
    sandbox="own",  # it runs no commands
)
