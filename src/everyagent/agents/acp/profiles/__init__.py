"""The profiles of known ACP agents, one file each. `agents/registry.py` lists their names."""

from importlib import import_module

from everyagent.agents.acp.profile import Profile


def load(name: str) -> Profile:
    """The profile of a known agent."""
    profile: object = import_module(f"{__name__}.{name}").PROFILE
    assert isinstance(profile, Profile)
    return profile
