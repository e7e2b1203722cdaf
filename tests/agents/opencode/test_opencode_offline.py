"""The real program where there is no network."""

from pathlib import Path

from tests.agents.offline import needs_isolation, pass_without_network

HERE = Path(__file__).parent
TESTS = (
    "test_opencode_turns.py::test_text_is_streamed_and_whole",
    "test_opencode_turns.py::test_a_command_runs_and_its_output_is_streamed",
    "test_opencode_asks.py::test_a_command_runs_once_it_is_permitted",
    "test_opencode_asks.py::test_questions_are_answered_with_labels_several_and_own_words",
    "test_opencode_features.py::test_searching_finds_ripgrep",
    "test_opencode_features.py::test_items_of_a_sub_agent_belong_to_the_call_that_made_it",
    "test_opencode_life.py::test_a_killed_server_is_reported_once_in_each_of_its_sessions_and_each_resumes",
)


@needs_isolation
def test_turns_tools_asks_and_resuming_need_no_network(opencode_program: str, tmp_path: Path) -> None:
    assert opencode_program
    pass_without_network([str(HERE / test) for test in TESTS], tmp_path)
