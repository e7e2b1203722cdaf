"""The cache of the newest chunks: shared, joined and bounded."""

from everyagent.log.chunk import EventChunk
from everyagent.log.log import StoredEvent
from everyagent.log.recent import PIECE_BYTES, Recent


def chunk(session: int, first: int, last: int, commit: int, size: int = 100) -> EventChunk:
    events = [StoredEvent(sequence, 1, b"x" * size) for sequence in range(first, last + 1)]
    return EventChunk(session, events, commit)


def test_a_reader_that_lacks_several_small_chunks_gets_them_in_one_shared_piece() -> None:
    recent = Recent(1 << 20, 0)
    recent.publish([chunk(1, 1, 2, 1), chunk(2, 1, 1, 2), chunk(1, 3, 3, 3), chunk(1, 4, 6, 4)])
    joined = recent.after(1, 0)
    assert joined is not None
    assert (joined.first, joined.last, [event.sequence for event in joined.events]) == (1, 6, [1, 2, 3, 4, 5, 6])
    assert recent.after(1, 0) is joined
    assert recent.after(1, 1) is None
    assert recent.after(1, 6) is None
    assert recent.committed(4) == (recent.after(1, 3), True)
    assert (recent.head(1), recent.head(2), recent.head(3)) == (6, 1, None)


def test_data_derived_from_a_joined_piece_reuses_that_of_its_chunks() -> None:
    made: list[int] = []

    def numbered(chunk: EventChunk) -> bytes:
        made.extend(event.sequence for event in chunk.events)
        return b"".join(b"%d%b" % (event.sequence, event.body) for event in chunk.events)

    recent = Recent(1 << 20, 0)
    pieces = [chunk(1, 1, 2, 1), chunk(1, 3, 3, 2), chunk(1, 4, 6, 3)]
    recent.publish(pieces)
    assert pieces[1].derived(numbered, b"".join) == b"3" + b"x" * 100
    joined = recent.after(1, 0)
    assert joined is not None
    assert joined.derived(numbered, b"".join) == numbered(chunk(1, 1, 6, 0))
    assert joined.derived(numbered, b"".join) is joined.derived(numbered, b"".join)
    assert made == [3, 1, 2, 4, 5, 6, 1, 2, 3, 4, 5, 6]


def test_the_size_of_a_joined_piece_is_limited() -> None:
    recent = Recent(1 << 24, 0)
    recent.publish([chunk(1, number, number, number, size=PIECE_BYTES // 2) for number in range(1, 11)])
    joined = recent.after(1, 0)
    assert joined is not None
    assert joined.last == 2


def test_a_large_commit_is_read_in_pieces() -> None:
    recent = Recent(1 << 24, 0)
    recent.publish([chunk(1, 1, 300, 1, size=1000), chunk(1, 301, 302, 2, size=PIECE_BYTES)])
    position, feed = 0, 0
    while (piece := recent.after(1, position)) is not None:
        assert piece.size <= PIECE_BYTES
        assert piece.first == position + 1
        if position < 300:
            found = recent.committed(1, feed)
            assert found == (piece, piece.last == 300)
            feed = piece.last
        position = piece.last
    assert position == 302


def test_memory_is_bounded_and_the_oldest_chunks_are_evicted_first() -> None:
    recent = Recent(10_000, 0)
    recent.publish([chunk(number % 3, number, number, number, size=1000) for number in range(1, 100)])
    kept = [number for number in range(1, 100) if recent.committed(number)]
    assert kept == [96, 97, 98, 99]
    assert recent.commit == 99
    recent.publish([chunk(7, 1, 1, 100, size=20_000)])
    assert not any(recent.committed(number) for number in range(1, 101))
    assert recent.head(7) is None


def test_a_replay_ends_where_shared_chunks_begin() -> None:
    recent = Recent(1 << 20, 0)
    recent.publish([chunk(1, 11, 20, 1), chunk(1, 21, 30, 2)])
    assert [recent.edge(1, position) for position in (0, 5, 10, 15, 20, 25, 30)] == [10, 10, 20, 20, None, None, None]
    assert recent.edge(2, 0) is None


def test_a_forgotten_session_leaves_no_chunks() -> None:
    recent = Recent(10_000, 0)
    recent.publish([chunk(1, 1, 1, 1), chunk(2, 1, 1, 2), chunk(1, 2, 2, 3)])
    recent.forget(1)
    recent.forget(1)
    assert (recent.head(1), recent.after(1, 0), recent.committed(1), recent.committed(3)) == (None, None, None, None)
    assert recent.committed(2) == (recent.after(2, 0), True)
    recent.publish([chunk(3, number, number, 3 + number, size=1000) for number in range(1, 50)])
    assert recent.committed(2) is None
