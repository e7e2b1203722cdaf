"""The real program under the session machine: any commands, any restarts, and every order rule."""

from collections.abc import Generator

import pytest
from codex_stage import CONFIG
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from tests.scripted.responses_replies import Response, call, run, say, think
from tests.scripted.responses_server import ResponsesServer

from everyagent.agents.codex import program
from everyagent.sessions.limits import Limits
from everyagent.testing.machine import SessionMachine

FOREVER = 10**9
OPTIONS = [{"label": "A", "description": "a"}, {"label": "B", "description": "b"}]
QUESTION = {"id": "q", "header": "H", "question": "Which?", "options": OPTIONS}


def responses() -> Generator[Response]:
    """The prompt chooses the response of the model."""
    yield say("word " * 50, when="talk for long", held=5)
    yield run("touch made", when="make a file")
    yield run("sleep 40", when="work long")
    yield call("request_user_input", {"questions": [QUESTION]}, when="ask me")
    yield think("Hm, let me see.", "I see.", when="think about it")
    yield say("Hello.")


class CodexMachine(SessionMachine):
    agent = "codex"
    prompts = st.sampled_from(["hello", "think about it", "make a file", "ask me", "/compact"])
    slow_prompts = st.sampled_from(["talk for long", "work long"])
    limits = Limits(retry_delay=0.01, interrupt_grace=5, sweep_every=0.05)


@pytest.fixture(autouse=True, scope="module")
def surroundings(codex_program: str, tmp_path_factory: pytest.TempPathFactory) -> Generator[None]:
    home = tmp_path_factory.mktemp("home")
    with ResponsesServer() as model, pytest.MonkeyPatch.context() as patch:
        for response in responses():
            response.times = FOREVER
            model.script.add(response)
        (home / "config.toml").write_text(CONFIG.format(url=model.url, top="", web_search="disabled"))
        ours = {"HOME": str(home), "CODEX_HOME": str(home), "SCRIPTED_KEY": "sk-not-a-key"}
        patch.setattr(CodexMachine, "env", ours)
        patch.setenv(program.BINARY_VARIABLE, codex_program)
        patch.setenv("CODEX_HOME", str(home))
        yield
        model.script.release_all()


TestCodexMachine = CodexMachine.TestCase
TestCodexMachine.settings = settings(
    max_examples=8,
    stateful_step_count=12,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
