"""Parsing of server-sent events by the client."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from everyagent.client.sse import SseMessage, SseParser

STREAM = (
    b'retry: 1000\n\n: a comment\n\nid: 1\nevent: message\ndata: {"a": 1}\n\n'
    b"id: 2\r\ndata: x\r\ndata: y\r\n\r\ndata:no space\r\rdata\n\nid: 3\nevent: other\ndata: :colon: \xc3\xb8\n\n"
    b"id: 4\ndata: cut off"
)
MESSAGES = [
    SseMessage("1", "message", b'{"a": 1}'),
    SseMessage("2", "message", b"x\ny"),
    SseMessage("2", "message", b"no space"),
    SseMessage("2", "message", b""),
    SseMessage("3", "other", b":colon: \xc3\xb8"),
]


def cut(stream: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in pairwise(edges)]


@given(st.lists(st.integers(0, 10_000)))
def test_messages_are_the_same_wherever_the_stream_is_cut(places: list[int]):
    parser = SseParser()
    assert [message for chunk in cut(STREAM, places) for message in parser.feed(chunk)] == MESSAGES


def test_messages_are_parsed_from_single_bytes():
    parser = SseParser()
    assert [m for byte in STREAM for m in parser.feed(bytes([byte]))] == MESSAGES


@given(st.lists(st.binary().map(lambda data: data.replace(b"\r", b"").replace(b"\n", b"")), max_size=20), st.randoms())
def test_data_without_line_ends_is_unchanged(bodies, chance):
    stream = b"".join(b"id: %d\ndata: %s\n\n" % (number, body) for number, body in enumerate(bodies))
    parser = SseParser()
    received = [m for chunk in cut(stream, [chance.randrange(10_000) for _ in range(9)]) for m in parser.feed(chunk)]
    assert [m.data for m in received] == bodies


def test_a_message_of_many_megabytes_is_parsed_in_linear_time():
    parser = SseParser()
    parser.feed(b"data: ")
    for _ in range(2000):
        assert parser.feed(b"x" * 16_384) == []
    [message] = parser.feed(b"\n\n")
    assert len(message.data) == 2000 * 16_384
