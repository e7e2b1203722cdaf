"""Random commands and restarts with the real Amp, checked against every order rule."""

from collections.abc import Generator

import pytest
from amp_stage import KEY
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.scripted.amp_replies import Reply, call, fail, say, think
from tests.scripted.amp_server import AmpServer

from everyagent.agents.amp import program
from everyagent.sessions.limits import Limits
from everyagent.testing.machine import SessionMachine

FOREVER = 10**9


def replies() -> Generator[Reply]:
    """The agent's reply, chosen by the prompt."""
    yield say("Never said.", when="talk for long", held=True)
    yield call("shell_command", {"command": "python3 -c 'import time; time.sleep(40)'"}, when="work long")
    yield call("shell_command", {"command": "touch made"}, when="make a file")
    yield fail("Model Provider Overloaded", when="fail")
    yield think("Hm, let me see.", "I see.", when="think about it")
    yield say("Hello.")


class AmpMachine(SessionMachine):
    agent = "amp"
    prompts = st.sampled_from(["hello", "think about it", "make a file", "fail"])
    slow_prompts = st.sampled_from(["talk for long", "work long"])
    limits = Limits(retry_delay=0.01, interrupt_grace=5, sweep_every=0.05)


@pytest.fixture(autouse=True, scope="module")
def surroundings(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    home = str(tmp_path_factory.mktemp("home"))
    with AmpServer() as model, pytest.MonkeyPatch.context() as patch:
        for reply in replies():
            reply.times = FOREVER
            model.script.add(reply)
        ours = {"HOME": home, "TMPDIR": home, "AMP_URL": model.url, "AMP_API_KEY": KEY}
        patch.setattr(AmpMachine, "env", ours)
        patch.setenv(program.BINARY_VARIABLE, binary)
        yield
        model.script.release_all()


TestAmpMachine = AmpMachine.TestCase
TestAmpMachine.settings = settings(
    max_examples=6,
    stateful_step_count=10,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
