"""Checks of `allowedHosts` when a session is created."""

import pytest
from msgspec.structs import replace

from everyagent.agents.adapter import Catalog
from everyagent.errors import BadRequest, UnsupportedChoice
from everyagent.runtime import restricted_shell
from everyagent.sessions.launch.allowed_hosts import keepable

HELPLESS = Catalog(models=[], default_model=None, agent_modes=[], permission_modes=[])
ITSELF = replace(HELPLESS, sandbox="own", sandbox_modes=["bypass", "plan"])
SHELLED = replace(HELPLESS, sandbox="shell")


async def test_hosts_are_normalised_to_plain_names() -> None:
    written = ["https://Example.org:443/x", "example.org", "*.example.com"]
    assert await keepable(written, "plan", "Agent", ITSELF) == ["example.org", "*.example.com"]
    assert await keepable([], "bypass", "Agent", ITSELF) == []
    assert await keepable(None, "default", "Agent", HELPLESS) is None


async def test_an_invalid_host_is_refused_and_named() -> None:
    with pytest.raises(BadRequest, match=r"'not one' is not a host\. Write it like example\.org"):
        await keepable(["example.org", "not one"], "bypass", "Agent", ITSELF)


async def test_an_agent_that_cannot_limit_hosts_is_refused() -> None:
    with pytest.raises(UnsupportedChoice, match=r"Agent cannot be limited to some hosts\. Leave `allowedHosts` out"):
        await keepable([], "default", "Agent", HELPLESS)
    with pytest.raises(UnsupportedChoice, match="in the permission mode 'default'") as refused:
        await keepable([], "default", "Agent", ITSELF)
    assert refused.value.facts["choices"] == ["bypass", "plan"]


async def test_a_machine_that_cannot_limit_hosts_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restricted_shell, "unavailable_reason", lambda: "There is no program nsenter.")
    with pytest.raises(UnsupportedChoice, match="cannot limit commands to some hosts: There is no program"):
        await keepable([], "default", "Agent", SHELLED)
    assert await keepable([], "bypass", "Agent", ITSELF) == [], "it needs none of ours"
