"""Capabilities and catalog of Claude Code. The program itself lists its models."""

from contextlib import aclosing
from pathlib import Path

import anyio
import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import Catalog, Launch
from everyagent.agents.catalogs import CODING_AGENT
from everyagent.agents.claude import encode, launch, wire_control
from everyagent.agents.claude.modes import AGENT_MODES, PERMISSION_MODES
from everyagent.agents.claude.policies import TOOLS
from everyagent.errors import AgentFailed
from everyagent.model.agents import Model
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

CAPABILITIES = replace(CODING_AGENT, cost=True)

_EFFORTS = ["low", "medium", "high", "xhigh", "max"]
ASK_LIMIT = 30.0

_responses = msgspec.json.Decoder(wire_control.ControlResponse)
_initialized = msgspec.json.Decoder(wire_control.Initialized)


def catalog(models: list[wire_control.ClaudeModel]) -> Catalog:
    """The catalog with these models. The program accepts more names than it lists."""
    return Catalog(
        models=[
            Model(id=model.value, name=model.display_name, variants=model.supported_effort_levels) for model in models
        ],
        default_model="default",
        agent_modes=AGENT_MODES,
        permission_modes=PERMISSION_MODES,
        open_models=True,
        costs=True,
        tools=TOOLS,
        sandbox="shell",
    )


#: The catalog while the program is not installed.
UNASKED = catalog(
    [
        wire_control.ClaudeModel(value=name, display_name=name.title(), supported_effort_levels=_EFFORTS)
        for name in ("default", "opus", "sonnet", "haiku")
    ]
)


async def asked(binary: str, folder: Path, environment: dict[str, str], reaper: Reaper) -> Catalog:
    """Start the program only to list its models. Raises `AgentFailed`."""
    nobody = Launch(session_id="", directory=folder, scratch=folder, permission_mode="default", agent_mode="build")
    process = await Process.start(
        launch.argv(binary, nobody, None), directory=folder, environment=environment, reaper=reaper
    )
    try:
        with anyio.move_on_after(ASK_LIMIT):
            await process.write(encode.initialize("catalog"))
            async with aclosing(process.lines()) as batches:
                async for lines in batches:
                    for line in lines:
                        if models := _models(line.body):
                            return catalog(models)
    finally:
        await process.stop(0)
    raise AgentFailed(f"Claude Code did not list its models. {process.last_error_line or ''}".strip())


def _models(body: bytes) -> list[wire_control.ClaudeModel]:
    try:
        return _initialized.decode(_responses.decode(body).response.response).models
    except msgspec.MsgspecError:
        return []
