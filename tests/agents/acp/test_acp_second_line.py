"""Real ACP agents that need an account, as far as they run without one.

They are large and slow to start, so these tests run only with EVERYAGENT_FETCH_AGENTS=1, which fetches them.
Recorded exchanges in `tests/golden/` stand for them elsewhere.
"""

import os
from collections.abc import Generator
from pathlib import Path

import pytest
from acp_stage import AGENTS_CACHE, AcpSession
from tests.agents.stage import daemon_of
from tests.scripted.chat_replies import call, say
from tests.scripted.chat_server import ChatServer

from everyagent.agents import packages
from everyagent.agents.acp import profiles, program
from everyagent.model.events import Error, PermissionRequested, TurnEnded, Unparsed
from everyagent.testing.daemon import DaemonProcess

AGENTS = ("vibe", "cline", "auggie", "droid")
MODEL_OF_VIBE = """
active_model = "fake"
enable_telemetry = false
[[providers]]
name = "local"
api_base = "{url}"
api_key_env_var = ""
[[models]]
name = "fake-model"
provider = "local"
alias = "fake"
"""


pytestmark = pytest.mark.skipif(
    not os.environ.get("EVERYAGENT_FETCH_AGENTS"), reason="EVERYAGENT_FETCH_AGENTS is unset"
)


def _installed(agent: str) -> Path:
    profile = profiles.load(agent)
    package = profile.npm or profile.pypi
    assert package
    return packages.install(program.pinned(package), AGENTS_CACHE / agent)


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    named = {profiles.load(agent).variable: str(_installed(agent)) for agent in AGENTS}
    folder = tmp_path_factory.mktemp("second-line")
    with daemon_of(folder, HOME=str(folder), **named) as running:
        yield running


@pytest.fixture
def session(agent: str, daemon: DaemonProcess, tmp_path: Path) -> Generator[AcpSession]:
    with ChatServer() as model, AcpSession(agent, daemon, model, tmp_path).played() as staged:
        yield staged


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_without_a_login_fails_with_the_way_to_log_in(session: AcpSession) -> None:
    assert session.create().turn("Hello").stop_reason == "error"
    (error,) = session.all(Error)
    assert error.code == "auth"
    assert profiles.load(session.agent).login_hint in error.message
    assert session.all(Unparsed) == []


@pytest.mark.parametrize("agent", ["vibe"])
def test_an_agent_with_a_model_of_its_own_talks_and_asks(session: AcpSession) -> None:
    (session.home / ".vibe").mkdir()
    (session.home / ".vibe" / "config.toml").write_text(MODEL_OF_VIBE.format(url=session.model.url))
    session.model.script.add(call("bash", {"command": "touch made"}, when="Run it"), say("It ran."))
    session.create().send("Run it")
    session.permit(session.next(PermissionRequested).permission_id, "once")
    assert session.next(TurnEnded).stop_reason == "end_turn"
    assert session.replies() == ["It ran."]
    assert (session.workspace / "made").exists()
    assert session.all(Unparsed) == []
