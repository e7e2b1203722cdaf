"""Capabilities and catalog of an ACP agent. The program itself lists its modes and models."""

from msgspec.structs import replace

from everyagent.agents.acp import wire
from everyagent.agents.acp.offers import Offers
from everyagent.agents.acp.profile import Profile
from everyagent.agents.adapter import Capabilities, Catalog
from everyagent.agents.catalogs import CODING_AGENT, modes
from everyagent.model.agents import Mode, Model

AGENT_MODES = modes({"build": "Does the work, as the permission mode allows"})
_PERMISSION_MODES = modes(
    {
        "default": "Asks before it acts, as far as the agent asks at all",
        "plan": "Changes nothing; proposes a plan",
        "acceptEdits": "Edits files without asking, asks for the rest",
        "bypass": "Asks for no permission",
    }
)


def capabilities(profile: Profile) -> Capabilities:
    """The capabilities of the protocol, less those that the agent lacks."""
    return replace(
        CODING_AGENT,
        permissions=profile.name != "pi",
        images=profile.images,
        mcp_tools=profile.mcp,
        custom_tools=profile.mcp,
        subagents=False,
        subagent_interrupt=False,
        steering=False,
        system_messages=False,
        tool_policies=bool(profile.tools),
        own_tools_off=False,
    )


def catalog(profile: Profile, offers: Offers) -> Catalog:
    """With the agent's own modes beside those that all agents share."""
    mapped = set(profile.modes.values())
    own = [
        Mode(id=mode.id, name=mode.name or mode.id, description=mode.description or "")
        for mode in offers.modes
        if mode.id not in mapped
    ]
    return Catalog(
        models=[Model(id=model.model_id, name=model.name, variants=offers.levels) for model in offers.models],
        default_model=offers.model,
        agent_modes=AGENT_MODES,
        permission_modes=[*_PERMISSION_MODES, *own],
        open_models=bool(profile.model_variable or profile.model_argument),
        tools=list(profile.tools),
        open_tools=bool(profile.tools),
        sandbox="shell" if profile.bash_env else None,
    )


def unasked(profile: Profile) -> Catalog:
    """The catalog while the program is not installed, or does not answer."""
    return catalog(profile, Offers(wire.SessionOpened()))
