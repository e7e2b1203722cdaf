"""What Codex can do, and what can be chosen. Models are asked of the program itself."""

import msgspec
from anyio.abc import TaskGroup

from everyagent.agents.adapter import Capabilities, Catalog, Model
from everyagent.agents.codex import wire
from everyagent.agents.codex.modes import AGENT_MODES, PERMISSION_MODES
from everyagent.agents.codex.servers import Kind, started
from everyagent.runtime.warden import Warden

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
    shared_process=True,
    variants=True,
    custom_tools=True,
    subagents=True,
    usage=True,
    steering=True,
    resume=True,
    system_prompt=True,
    model_change=True,
    mode_change=True,
)

_models = msgspec.json.Decoder(wire.Models)


def catalog(models: list[wire.ModelInfo]) -> Catalog:
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
    )


#: What is offered where the program is not there to be asked.
UNASKED = catalog([])


async def asked(kind: Kind, nursery: TaskGroup, warden: Warden) -> Catalog:
    """Start the program only to hear what it offers. Raises `AgentFailed`."""
    server = await started(kind, nursery, warden)
    try:
        models: list[wire.ModelInfo] = []
        cursor: str | None = None
        while True:
            page = _models.decode(await server.request("model/list", {"cursor": cursor} if cursor else {}))
            models += page.data
            cursor = page.next_cursor
            if not cursor:
                return catalog(models)
    finally:
        await server.stop(force=True)
