"""Server-sent event frames. Called once per chunk: its readers share the bytes."""

from typing import Final

from everyagent.sessions import EventChunk

#: Sent at once, so that the client and proxies see an open stream.
OPENING: Final = b": open\n\n"
HEARTBEAT: Final = b": heartbeat\n\n"
#: Part of the first event's block: some clients take a block without data for an event.
RETRY: Final = b"retry: 1000\n"


def session_frames(chunk: EventChunk) -> bytes:
    """Frames whose ids are sequences. Events with the sequence 0 get no id: a stream cannot be resumed after them."""
    if not chunk.first:
        return b"".join([b"event: message\ndata: %b\n\n" % event.body for event in chunk.events])
    return b"".join([b"id: %d\nevent: message\ndata: %b\n\n" % (event.sequence, event.body) for event in chunk.events])


def feed_frames(chunk: EventChunk) -> bytes:
    """Frames of the feed of all sessions, whose ids are `<commit>.<sequence>`."""
    commit = chunk.commit
    return b"".join(
        [b"id: %d.%d\nevent: message\ndata: %b\n\n" % (commit, event.sequence, event.body) for event in chunk.events]
    )
