"""Splitting of byte streams into lines of limited length."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from everyagent.runtime.framing import LINE_LIMIT, Line, LineSplitter

LIMIT = 8
STREAMS = st.lists(st.sampled_from([b"\n", b"\r", b"a", b"bc", b"\r\n", b"0123456789"])).map(b"".join)


def split(chunks: list[bytes], limit: int = LINE_LIMIT) -> list[Line]:
    splitter = LineSplitter(limit)
    return [line for chunk in chunks for line in splitter.feed(chunk)] + splitter.finish()


@given(STREAMS, st.lists(st.integers(0, 100)), st.sampled_from([1, LIMIT, LINE_LIMIT]))
def test_any_chunking_gives_the_same_lines(stream: bytes, cuts: list[int], limit: int) -> None:
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    chunks = [stream[start:end] for start, end in pairwise(places)]
    assert split(chunks, limit) == split([stream], limit)


@given(STREAMS)
def test_the_lines_equal_the_stream_split_at_newlines(stream: bytes) -> None:
    expected = stream.split(b"\n")
    last = expected.pop()
    bodies = [line.removesuffix(b"\r") for line in expected] + ([last.removesuffix(b"\r")] if last else [])
    assert [line.body for line in split([stream])] == bodies


@given(st.lists(st.binary(max_size=40)))
def test_never_more_than_the_limit_is_held(chunks: list[bytes]) -> None:
    splitter = LineSplitter(LIMIT)
    for chunk in chunks:
        assert all(len(line.body) <= LIMIT for line in splitter.feed(chunk))
        assert splitter.held <= LIMIT


def test_a_line_over_the_limit_is_cut_and_the_next_one_is_whole() -> None:
    assert split([b"01234", b"56789abc\nnext\n"], LIMIT) == [Line(b"01234567", 13), Line(b"next")]
    assert split([b"0123456789abc\nnext\n"], LIMIT) == [Line(b"01234567", 13), Line(b"next")]


def test_a_line_as_long_as_the_limit_is_whole() -> None:
    assert split([b"01234567\n"], LIMIT) == [Line(b"01234567")]


def test_a_line_of_64_megabytes_is_accepted() -> None:
    piece = b"x" * (128 * 1024)
    [line, after] = split([piece] * 512 + [b"\nafter\n"])
    assert (len(line.body), line.cut) == (64 * 1024 * 1024, 0)
    assert after == Line(b"after")


def test_a_gigabyte_without_a_newline_stays_within_the_limit() -> None:
    splitter = LineSplitter(1024 * 1024)
    piece = b"x" * (1024 * 1024)
    for _ in range(1024):
        assert splitter.feed(piece) == []
        assert splitter.held <= 1024 * 1024
    [line] = splitter.feed(b"\n")
    assert (len(line.body), line.cut) == (1024 * 1024, 1024**3)
