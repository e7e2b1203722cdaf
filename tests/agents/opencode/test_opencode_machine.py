"""The real program under the session machine: any commands, any restarts, and every order rule."""

from collections.abc import Generator

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from opencode_stage import config
from tests.scripted.chat_replies import Completion, call, run, say, think
from tests.scripted.chat_server import ChatServer

from everyagent.sessions.limits import Limits
from everyagent.testing.machine import SessionMachine

FOREVER = 10**9
QUESTION = {"header": "H", "question": "Which?", "options": [{"label": "A", "description": "a"}]}


def completions() -> Generator[Completion]:
    """The prompt chooses the response of the model."""
    yield say("word " * 50, when="talk for long", held=5)
    yield run("touch made", when="make a file")
    yield run("sleep 40", when="work long")
    yield call("question", {"questions": [QUESTION]}, when="ask me")
    yield think("Hm, let me see.", "I see.", when="think about it")
    yield say("Hello.")


class OpencodeMachine(SessionMachine):
    agent = "opencode"
    prompts = st.sampled_from(["hello", "think about it", "make a file", "ask me"])
    slow_prompts = st.sampled_from(["talk for long", "work long"])
    limits = Limits(retry_delay=0.01, interrupt_grace=20, sweep_every=0.05)


@pytest.fixture(autouse=True, scope="module")
def scripted_model(surroundings: dict[str, str]) -> Generator[None]:
    with ChatServer() as model, pytest.MonkeyPatch.context() as patch:
        for completion in completions():
            completion.times = FOREVER
            model.script.add(completion)
        for name, value in surroundings.items():
            patch.setenv(name, value)
        content = msgspec.json.encode(config(model.url)).decode()
        patch.setattr(OpencodeMachine, "env", {"OPENCODE_CONFIG_CONTENT": content})
        yield
        model.script.release_all()


TestOpencodeMachine = OpencodeMachine.TestCase
TestOpencodeMachine.settings = settings(
    max_examples=4,
    stateful_step_count=10,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
