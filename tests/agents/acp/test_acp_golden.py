"""Golden tests of recorded exchanges with ACP agents."""

import pytest
from recorded_agents import AGENTS, GOLDEN, AcpPlayer, cases, exchanges, line_of, profile_of
from tests.agents.golden import assert_golden, memory_growth
from tests.agents.sequenced_session import violations

from everyagent.agents.acp.decode import UPDATES, AcpDecoder

#: Exchanges in which the agent wrote text that is no message, or answered a line that was no message.
UNPARSED = {("gemini", "no-auth"): 6, ("goose", "bad-requests"): 1}
CASES = cases()


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_a_recorded_exchange_becomes_the_events_checked_in(agent: str, case: str) -> None:
    assert_golden(AcpPlayer(agent).play(exchanges(agent, case)), GOLDEN / agent / case)


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_a_recorded_exchange_keeps_every_order_rule(agent: str, case: str) -> None:
    assert violations(AcpPlayer(agent).play(exchanges(agent, case))) == []


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_only_lines_that_are_no_messages_are_unparsed(agent: str, case: str) -> None:
    events = AcpPlayer(agent).play(exchanges(agent, case))
    assert sum(event.type == "agent.unparsed" for event in events) == UNPARSED.get((agent, case), 0)


@pytest.mark.parametrize(("agent", "case"), CASES)
def test_our_answers_equal_the_recorded_answers(agent: str, case: str) -> None:
    player = AcpPlayer(agent)
    player.play(exchanges(agent, case))
    for recorded, ours in player.answers:
        assert ours == recorded


def test_recorded_exchanges_are_here_for_every_agent_and_update() -> None:
    assert {agent for agent, _ in CASES} == set(AGENTS)
    everything = b"".join(bytes(each.msg) for agent, case in CASES for each in exchanges(agent, case))
    assert [name for name in UPDATES if f'"{name}"'.encode() not in everything] == []


@pytest.mark.parametrize("agent", AGENTS)
def test_decoding_many_sessions_leaks_no_memory(agent: str) -> None:
    played = [
        [line_of(each) for each in exchanges(agent, case) if each.dir == "out"] for of, case in CASES if of == agent
    ]
    assert memory_growth(lambda: AcpDecoder(profile_of(agent)), played, rounds=5) < 50_000
