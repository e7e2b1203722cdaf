"""The session machine with the mock agent: random prompts, commands and restarts."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from everyagent.testing.machine import SessionMachine

DIRECTIVES = [
    "hello",
    "[hello]",
    "[text words=5]",
    "[reasoning]",
    '[tool name=bash command="echo hi"]',
    "[tool name=read]",
    "[ask]",
    "[question]",
    "[approve]",
    "[diff]",
    "[image]",
    "[mcp]",
    "[subagent]",
    "[plan]",
    "[retry times=1]",
    "[error code=overloaded]",
    "[crash]",
    "[exit]",
    "[unparsed]",
    "[flood events=50 size=20]",
]


class MockMachine(SessionMachine):
    agent = "mock"
    prompts = st.lists(st.sampled_from(DIRECTIVES), min_size=1, max_size=4).map(" ".join)
    slow_prompts = st.sampled_from(
        ["[slow seconds=60]", "[hang]", "words [slow seconds=60]", "[ask] [slow seconds=60]"]
    )


TestMockMachine = MockMachine.TestCase
TestMockMachine.settings = settings(
    max_examples=60,
    stateful_step_count=15,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
