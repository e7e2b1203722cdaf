"""Masks the secrets of a session in the frames and drafts of its agent, before they are decided on."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from everyagent.agents.adapter import DecodedFrame, Draft, Echo, NativeSession, Synthetic
from everyagent.masking.live import watch
from everyagent.masking.masker import NOTHING, Masker
from everyagent.masking.stream import Beginnings, MaskedStream
from everyagent.model.events import DeltaKind, EventData, ItemCompleted, ItemDelta, ItemStarted, ModelResponded

D = TypeVar("D", bound=msgspec.Struct)
_encode = msgspec.json.Encoder().encode


class _OpenText:
    """One text of an item that is being streamed, and its last delta."""

    __slots__ = ("last", "stream")

    def __init__(self, stream: MaskedStream, last: ItemDelta) -> None:
        self.stream = stream
        self.last = last


class SessionMask:
    """`masker` is that of the transactions of the session. Deltas are held back as in `MaskedStream`."""

    __slots__ = ("_beginnings", "_texts", "masker")

    def __init__(self, masker: Masker = NOTHING) -> None:
        self._texts: dict[tuple[str, int, DeltaKind], _OpenText] = {}
        self._use(masker)

    def _use(self, masker: Masker) -> None:
        self.masker = watch(masker)
        self._beginnings: Beginnings | None = None

    def learn(self, secrets: Mapping[bytes, str]) -> None:
        """Mask these secrets of an agent that is started, too. Earlier ones stay: it may repeat a renewed token."""
        self._texts.clear()
        known = self.masker.secrets
        if not known.keys() >= secrets.keys():
            self._use(Masker({**secrets, **known}))

    def received(self, frames: Sequence[DecodedFrame]) -> Sequence[DecodedFrame]:
        """The same frames with masked drafts; the transaction masks the frames themselves."""
        if not self.masker:
            return frames
        return [DecodedFrame(each.frame, list(self._drafts(each.drafts))) if each.drafts else each for each in frames]

    def release(self, item: str | None = None) -> Iterator[ItemDelta]:
        """The ends of texts that are held back: of one item, or of all when nothing more can follow."""
        for place in [place for place in self._texts if item is None or place[0] == item]:
            text = self._texts.pop(place)
            if held := text.stream.flush():
                yield replace(text.last, delta=held)

    def _drafts(self, drafts: Sequence[Draft]) -> Iterator[Draft]:
        for draft in drafts:
            match draft:
                case ItemDelta():
                    yield from self._delta(draft)
                case Synthetic(data=ItemDelta() as delta):
                    yield from (Synthetic(masked) for masked in self._delta(delta))
                case Synthetic(data=data):
                    yield from self._before(data)
                    yield Synthetic(masked_data(self.masker, data))
                case NativeSession() | Echo():
                    yield masked_data(self.masker, draft)
                case _:
                    yield from self._before(draft)
                    yield masked_data(self.masker, draft)

    def _delta(self, delta: ItemDelta) -> Iterator[ItemDelta]:
        place = (delta.item_id, delta.content_index, delta.kind)
        text = self._texts.get(place)
        if text is None:
            yield from self._left(delta)
            if self._beginnings is None:
                self._beginnings = Beginnings(self.masker.literals)
            text = self._texts[place] = _OpenText(MaskedStream(self.masker, self._beginnings), delta)
        text.last = delta
        if shown := text.stream.feed(delta.delta):
            yield delta if shown == delta.delta else replace(delta, delta=shown)

    def _left(self, delta: ItemDelta) -> Iterator[ItemDelta]:
        """The end of the item's reasoning or text, if the other begins: they become separate items."""
        if any(item == delta.item_id and kind != delta.kind for item, _, kind in self._texts):
            yield from self.release(delta.item_id)

    def _before(self, data: EventData) -> Iterator[ItemDelta]:
        match data:
            case ItemCompleted():
                yield from self.release(data.item.item_id)
            case ItemStarted() | ModelResponded():
                return
            case _:
                yield from self.release()


def masked_data(masker: Masker, data: D) -> D:
    """The same data with its text masked; the same object if there is no secret in it."""
    body = _encode(data)
    masked = masker.mask_json(body)
    if masked is body or masked == body:
        return data
    try:
        return msgspec.json.decode(masked, type=type(data))
    except msgspec.ValidationError:  # a number that looks like a secret stays, in a field that must be a number
        return msgspec.convert(masker.mask_value(msgspec.to_builtins(data), numbers=False), type=type(data))
