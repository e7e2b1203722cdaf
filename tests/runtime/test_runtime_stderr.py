"""The part of stderr that is kept for error reports."""

from everyagent.runtime.stderr import LINE_LIMIT, StderrKeeper


def kept(data: bytes) -> StderrKeeper:
    keeper = StderrKeeper()
    keeper.feed(data)
    keeper.finish()
    return keeper


def test_without_lines_there_is_no_output() -> None:
    assert StderrKeeper().output() is None


def test_all_of_up_to_seventy_lines_are_kept() -> None:
    text = "\n".join(f"line {n}" for n in range(70))
    output = kept(text.encode()).output()
    assert output
    assert (output.truncated, output.head, output.tail, output.total_lines) == (False, text, None, 70)


def test_the_first_twenty_and_last_fifty_of_more_lines_are_kept() -> None:
    output = kept("".join(f"line {n}\n" for n in range(1000)).encode()).output()
    assert output
    assert (output.truncated, output.total_lines) == (True, 1000)
    assert (output.head or "").splitlines() == [f"line {n}" for n in range(20)]
    assert (output.tail or "").splitlines() == [f"line {n}" for n in range(950, 1000)]


def test_a_long_line_is_cut_and_marked() -> None:
    output = kept(b"x" * 100_000).output()
    assert output
    assert output.head == "x" * LINE_LIMIT + "… (100000 bytes)"


def test_the_last_line_that_is_not_blank_is_found() -> None:
    assert kept(b"first\nthe reason\n\n  \n").last_line == "the reason"


def test_bytes_that_are_not_utf8_are_replaced() -> None:
    assert kept(b"\xff\xfe broken").last_line == "\ufffd\ufffd broken"
