"""The real Claude Code without a network."""

from pathlib import Path

from tests.agents.offline import needs_isolation, pass_without_network

HERE = Path(__file__).parent
TESTS = (
    "test_claude_turns.py::test_a_prompt_is_answered_in_native_deltas",
    "test_claude_turns.py::test_parallel_tool_calls_belong_to_the_message_that_made_them",
    "test_claude_asks.py::test_a_permission_given_once_lets_the_tool_run",
    "test_claude_asks.py::test_an_approved_plan_leaves_plan_mode",
)


@needs_isolation
def test_turns_tools_and_asks_need_no_network(binary: str, tmp_path: Path) -> None:
    assert binary
    pass_without_network([str(HERE / test) for test in TESTS], tmp_path)
