import pytest

from everyagent.errors import AgentFailed, UnsupportedChoice
from everyagent.runtime import wall_probe
from everyagent.sessions.launch.isolation import IsolationPolicy

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["walls", "no walls"])
def walls(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the machine has walls."""
    there = request.param == "walls"
    monkeypatch.setattr(wall_probe, "unavailable_reason", lambda: None if there else "The kernel forbids it.")
    return there


async def test_auto_is_the_strongest_level_that_is_there(walls: bool) -> None:
    policy = IsolationPolicy()
    assert await policy.chosen(None) == await policy.chosen("auto") == ("namespace" if walls else "none")
    assert await policy.available() == (["none", "namespace"] if walls else ["none"])
    assert (await policy.described()).startswith("namespace" if walls else "none: agents can read")


async def test_a_level_that_is_not_available_is_refused(walls: bool) -> None:
    with pytest.raises(UnsupportedChoice, match="'container' is not available"):
        await IsolationPolicy().chosen("container")
    if walls:
        assert await IsolationPolicy().chosen("namespace") == "namespace"
        return
    with pytest.raises(UnsupportedChoice, match="The kernel forbids it"):
        await IsolationPolicy().chosen("namespace")
    with pytest.raises(AgentFailed, match="The kernel forbids it"):
        await IsolationPolicy().at_start("namespace")


async def test_no_session_is_below_the_floor(walls: bool) -> None:
    policy = IsolationPolicy(floor="namespace")
    with pytest.raises(UnsupportedChoice, match="no session below 'namespace'"):
        await policy.chosen("none")
    if walls:
        assert await policy.chosen("auto") == await policy.at_start("none") == "namespace"
        return
    assert await policy.default_level() is None
    for stored in ("none", None):
        with pytest.raises(AgentFailed):
            await policy.at_start(stored)


async def test_the_servers_default_is_used_for_sessions_that_name_none(walls: bool) -> None:
    policy = IsolationPolicy(default="none")
    assert await policy.chosen(None) == await policy.at_start(None) == "none"
