"""Decoders take any line: they never raise, keep it, and their events keep the order rules."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.torture.decoders import DECODERS, check, no_faults
from tests.torture.fuzz import play
from tests.torture.mutations import LINES


@pytest.mark.parametrize("agent", DECODERS)
def test_mutated_transcripts_have_no_fault(agent: str) -> None:
    @settings(max_examples=60)
    @given(st.integers(0, 2**64))
    def property(seed: int) -> None:
        play(agent, seed)

    property()


@pytest.mark.parametrize("agent", DECODERS)
def test_hostile_lines_are_kept_and_the_next_line_is_read(agent: str) -> None:
    with no_faults():
        check(agent, [*LINES.values(), b"{}"])
