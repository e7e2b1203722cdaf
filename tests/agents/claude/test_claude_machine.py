"""Random commands and restarts with the real Claude Code, checked against every order rule."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.scripted.messages_replies import Reply, call, fail, say, think
from tests.scripted.messages_server import MessagesServer

from everyagent.agents.claude import program
from everyagent.sessions.limits import Limits
from everyagent.testing.machine import SessionMachine

QUESTION = {
    "question": "Which?",
    "header": "H",
    "multiSelect": False,
    "options": [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}],
}
FOREVER = 10**9


def replies() -> Generator[Reply]:
    """The model's reply, chosen by the prompt."""
    yield say("word " * 50, when="talk for long", held=5)
    yield call("Bash", {"command": "touch made", "description": "make"}, when="make a file")
    yield call("Bash", {"command": "python3 -c 'import time; time.sleep(40)'", "description": "w"}, when="work long")
    yield call("AskUserQuestion", {"questions": [QUESTION]}, when="ask me")
    yield fail(529, "overloaded_error", times=1)
    yield think("Hm, let me see.", "I see.", when="think about it")
    yield say("Hello.", when="hello")


@pytest.fixture(autouse=True, scope="module")
def surroundings(binary: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    home = tmp_path_factory.mktemp("home")
    with MessagesServer() as model, pytest.MonkeyPatch.context() as patch:
        for reply in replies():
            reply.times = FOREVER if not reply.failure else 1
            model.script.add(reply)
        for name, value in environment(binary, home, model.url).items():
            patch.setenv(name, value)
        yield
        model.script.release_all()


def environment(binary: str, home: Path, url: str) -> dict[str, str]:
    return {
        program.BINARY_VARIABLE: binary,
        "HOME": str(home),
        "ANTHROPIC_BASE_URL": url,
        "ANTHROPIC_API_KEY": "sk-ant-not-a-key",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_TMPDIR": str(home),
    }


class ClaudeMachine(SessionMachine):
    agent = "claude"
    prompts = st.sampled_from(["hello", "think about it", "make a file", "ask me", "/cost"])
    slow_prompts = st.sampled_from(["talk for long", "work long"])
    limits = Limits(retry_delay=0.01, interrupt_grace=5, sweep_every=0.05)


TestClaudeMachine = ClaudeMachine.TestCase
TestClaudeMachine.settings = settings(
    max_examples=8,
    stateful_step_count=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
