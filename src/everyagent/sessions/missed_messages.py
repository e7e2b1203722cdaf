"""Messages of a turn that a daemon committed before it ended, and that the turn's runner never got. Pure."""

from collections.abc import Iterator, Sequence

from everyagent.agents.adapter import Prompt
from everyagent.errors import AgentFailed
from everyagent.model.events import EventData, ItemDelta, ItemStarted, TurnStarted
from everyagent.model.items import Item
from everyagent.remote import wire


def missed_messages(turn: Sequence[EventData], held: wire.Held) -> Iterator[wire.GivePrompt | wire.Steer]:
    """`turn` are the events of a turn. Raises `AgentFailed` for a message that the log does not have as it was sent."""
    inputs = next((data.input_item_ids for data in turn if isinstance(data, TurnStarted)), list[str]())
    items = [data.item for data in turn if isinstance(data, ItemStarted)]
    users = [item for item in items if item.role == "user" and not item.subagent]
    if inputs and inputs[0] not in held.prompts:
        first = [item for item in users if item.item_id in inputs]
        if len(first) < len(inputs):
            raise _not_whole("instructions for the model")
        text = "\n\n".join(_text(item, turn) for item in first)
        yield wire.GivePrompt(Prompt(item_id=inputs[0], text=text))
    for item in users:
        if item.item_id not in inputs and item.item_id not in held.prompts:
            yield wire.Steer(Prompt(item_id=item.item_id, text=_text(item, turn)))


def _text(item: Item, turn: Sequence[EventData]) -> str:
    """Attachments and secrets are not in the log as the client sent them. Text is in deltas."""
    if item.content:
        raise _not_whole("attachments")
    text = "".join(data.delta for data in turn if isinstance(data, ItemDelta) and data.item_id == item.item_id)
    if "[secret " in text:
        raise _not_whole("a secret")
    return text


def _not_whole(part: str) -> AgentFailed:
    return AgentFailed(
        f"The daemon was restarted before the runner got the message, which has {part}. Send the message again."
    )
