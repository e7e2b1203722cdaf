"""Blocks of types that nobody knows, in messages of Claude Code."""

import msgspec
import pytest

from everyagent.agents.claude.decode import ClaudeDecoder
from everyagent.model.events import ItemCompleted, Unparsed
from everyagent.model.parts import JsonPart, TextPart
from everyagent.runtime.framing import Line


@pytest.mark.parametrize("streamed", [True, False])
def test_a_block_of_an_unknown_type_is_an_item_with_its_json(streamed: bool) -> None:
    decoder = ClaudeDecoder()
    block: dict[str, object] = {"type": "hologram", "depth": [1, {"z": 2}]}
    text = {"type": "text", "text": "Here:"}
    frames: list[dict[str, object]] = []
    if streamed:
        events = [
            {"type": "message_start", "message": {"id": "msg_1", "model": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": text},
            {"type": "content_block_start", "index": 1, "content_block": block},
        ]
        for place, event in enumerate(events):
            frames.append({"type": "stream_event", "uuid": f"s{place}", "event": event})
    for place, each in enumerate([text, block]):
        message = {"id": "msg_1", "role": "assistant", "content": [each]}
        frames.append({"type": "assistant", "uuid": f"a{place}", "message": message})
    if streamed:
        frames.append({"type": "stream_event", "uuid": "end", "event": {"type": "message_stop"}})
    drafts = [draft for frame in frames for draft in decoder.decode(Line(msgspec.json.encode(frame))).drafts]
    assert not [draft for draft in drafts if isinstance(draft, Unparsed)]
    items = {draft.item.kind: draft.item for draft in drafts if isinstance(draft, ItemCompleted)}
    assert (items["unknown"].name, items["unknown"].parent_id) == ("hologram", items["message"].item_id)
    assert items["unknown"].content == [JsonPart(json=block)]
    assert items["message"].content == [TextPart(text="Here:")]
