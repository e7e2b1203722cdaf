"""Brings the drafts of adapters into the order that `docs/invariants.md` demands, and gives universal ids.

Pure but for the ids it makes: drafts in, event data out. Each live session's machine has one.
"""

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from typing import TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from everyagent.model.events import (
    Error,
    EventData,
    ItemCompleted,
    ItemDelta,
    ItemStarted,
    ModelResponded,
    PermissionRequested,
    PermissionResolved,
    QuestionRequested,
    QuestionResolved,
    SessionEnded,
    SessionStarted,
    StopReason,
    ToolRequested,
    ToolResolved,
    TurnEnded,
    TurnStarted,
    Unparsed,
)
from everyagent.model.ids import new_id
from everyagent.model.items import Item
from everyagent.sessions.machine import message_parts
from everyagent.sessions.machine.asks import Asks
from everyagent.sessions.machine.item_ids import ItemIds
from everyagent.sessions.machine.open_item import OpenItem, next_id, stub

#: With so many open items, the oldest one is closed before another one starts.
MAX_OPEN_ITEMS = 10_000
#: An item whose deltas outgrow this is closed and goes on as another one.
MAX_ITEM_CHARS = 64 * 1024 * 1024


class Emission(Struct, frozen=True, gc=False):
    """Event data that keeps the order rules, and whether the daemon made it up."""

    data: EventData
    synthetic: bool


Emissions: TypeAlias = Sequence[Emission]


class Sequencer:
    """With `derived`, keys of items and asks are ids already (`remote/item_ids.py`)."""

    __slots__ = (
        "_derived",
        "_ids",
        "_new_id",
        "_open",
        "_rests",
        "_unechoed",
        "asks",
        "turn_id",
    )

    def __init__(self, ids: Callable[[str], str] = new_id, *, derived: bool = False) -> None:
        self._new_id = ids
        self._derived = derived
        self._ids = ItemIds(ids, derived=derived)
        self._open: dict[str, OpenItem] = {}
        self._rests: dict[str, OpenItem] = {}  # of ended items, in a log that is read again
        self._unechoed: list[list[Item]] = []  # user messages that the agent has not repeated yet, by prompt
        self.asks = Asks(ids, derived=derived)
        self.turn_id: str | None = None

    def copy(self) -> "Sequencer":
        """Open items are shared."""
        twin = copy(self)
        twin._open, twin._unechoed = {**self._open}, [*self._unechoed]
        twin._ids, twin.asks = self._ids.copy(), self.asks.copy()
        return twin

    # -- events of the daemon -------------------------------------------------------------------------------

    def start_turn(self, inputs: Sequence[Item], *, echo: bool = False, parent: str | None = None) -> list[Emission]:
        """A turn for these user messages, which get their items at once. `echo`: the agent completes them."""
        turn_id = self._new_turn()
        self._ids.no_speaker()
        started = TurnStarted(turn_id=turn_id, input_item_ids=[item.item_id for item in inputs], traceparent=parent)
        return [Emission(started, True), *self.say(inputs, echo=echo)]

    def _new_turn(self) -> str:
        self._ids.begin_turn({key: opened.item.item_id for key, opened in self._open.items()})
        self.turn_id = turn_id = self._new_id("turn_")
        return turn_id

    def say(self, prompt: Sequence[Item], *, echo: bool = False) -> list[Emission]:
        """The user messages of one prompt, with their universal ids. With `echo` they stay open until `echoed`."""
        emissions: list[Emission] = []
        for item in prompt:
            self._ids.add(item.item_id, item.item_id)
            if echo:
                opened = self._open[item.item_id] = OpenItem(self._ids.started(item, self.turn_id))
                emissions.append(Emission(ItemStarted(item=opened.item), True))
                emissions += [Emission(delta, True) for delta in opened.missing(item)]
            else:
                emissions += self._complete_one(item, synthetic=True)
        if echo:
            self._unechoed.append([*prompt])
        return emissions

    def echoed(self, native_item_id: str | None) -> list[Emission]:
        """The agent repeated a prompt: that completes its messages."""
        prompt = self._unechoed.pop(0) if self._unechoed else []
        return [
            emission
            for item in prompt
            for emission in self._complete(replace(item, native_item_id=native_item_id), synthetic=False)
        ]

    def end_turn(self, reason: StopReason, why: str, error: str | None = None, *, park: bool = False) -> list[Emission]:
        """Close whatever is open, then the turn, if there is one. With `park` the turn's asks stay open."""
        emissions = self.close(why, park=park and self.turn_id is not None)
        if self.turn_id:
            ended = TurnEnded(turn_id=self.turn_id, stop_reason=reason, error=error, pending_asks=self.asks.ids())
            emissions.append(Emission(ended, True))
            self.turn_id = None
        return emissions

    def close(self, why: str, *, park: bool = False) -> list[Emission]:
        """Open items fail, open asks are resolved against the agent. User messages are complete without an echo."""
        emissions = [] if park else [Emission(resolution, True) for resolution in self.asks.abandon(why)]
        for item in [item for prompt in self._unechoed for item in prompt]:
            emissions += self._complete(item, synthetic=True)
        self._unechoed = []
        for key in list(self._open):
            emissions += self._fail(key, why)
        return emissions

    def key_of(self, item_id: str) -> str | None:
        """The adapter's key for an item."""
        return self._ids.key_of(item_id)

    # -- drafts of the agent --------------------------------------------------------------------------------

    def apply(self, data: EventData, *, synthetic: bool = False) -> Emissions:
        if type(data) is ItemDelta:
            return self._delta(data, synthetic)
        match data:
            case ItemStarted():
                return list(self._start(data.item, synthetic))
            case ItemCompleted():
                return list(self._complete(data.item, synthetic))
            case _:
                return list(self._apply(data, synthetic))

    def _apply(self, data: EventData, synthetic: bool) -> Iterator[Emission]:
        """Drafts of anything but items."""
        match data:
            case PermissionRequested() | QuestionRequested() | ToolRequested():
                request = self.asks.open(data, self._ids.find)
                if request:
                    yield Emission(request, synthetic)
            case PermissionResolved() | QuestionResolved() | ToolResolved():
                resolution = self.asks.resolved_by_agent(data)
                if resolution:
                    yield Emission(resolution, synthetic)
            case TurnStarted():
                if not self.turn_id:
                    yield Emission(TurnStarted(turn_id=self._new_turn(), input_item_ids=[]), synthetic)
            case TurnEnded():
                if self.turn_id:
                    yield from self.close(data.error or "The turn ended before this did.")
                    yield Emission(replace(data, turn_id=self.turn_id), synthetic)
                    self.turn_id = None
            case ModelResponded():
                yield Emission(replace(data, turn_id=self.turn_id, subagent=self._ids.find(data.subagent)), synthetic)
            case Error() if data.subagent:
                yield Emission(replace(data, subagent=self._ids.find(data.subagent)), synthetic)
            case SessionEnded():
                yield from self.end_turn("terminated", "The agent ended the session.")
                yield Emission(data, synthetic)
            case SessionStarted():
                return
            case Unparsed():
                yield Emission(data, True)
            case _:
                yield Emission(data, synthetic)

    def _start(self, item: Item, synthetic: bool) -> Iterator[Emission]:
        key = item.item_id
        if key in self._ids:
            return
        if len(self._open) >= MAX_OPEN_ITEMS:
            yield from self._fail(next(iter(self._open)), f"The turn has {MAX_OPEN_ITEMS} open items, its limit.")
        if item.kind == "tool_result":
            for call in self._ids.missing_calls(item):
                yield from self._complete(call, synthetic=True)
        universal = self._ids.started(item, self.turn_id)
        self._open[key] = OpenItem(universal)
        yield Emission(ItemStarted(item=universal), synthetic)

    def grown(self, delta: ItemDelta) -> ItemDelta | None:
        """The delta with its item's universal id; None if its item is not open, or cannot grow any more."""
        opened = self._open.get(delta.item_id)
        if opened is None or opened.chars > MAX_ITEM_CHARS or opened.delta_kind not in (None, delta.kind):
            return None
        opened.grow(delta)
        return ItemDelta(
            item_id=opened.item.item_id,
            native_item_id=delta.native_item_id,
            delta=delta.delta,
            content_index=max(0, delta.content_index - opened.shift),
            kind=delta.kind,
            role=opened.item.role,
        )

    def _delta(self, delta: ItemDelta, synthetic: bool) -> Emissions:
        if grown := self.grown(delta):
            return (Emission(grown, synthetic),)
        key = delta.item_id
        opened = self._open.get(key)
        if opened is None:
            if key in self._ids:
                return ()
            before = [*self._start(stub(delta), True)]
        elif opened.chars > MAX_ITEM_CHARS:
            before = [*self._fail(key, "This item grew beyond 64 MiB; it goes on in the next one.")]
            before += self._go_on(key, opened, opened.before, opened.shift)
        elif opened.item.kind != "message":
            opened.delta_kind, before = delta.kind, []
        else:
            del self._open[key]
            before = [Emission(ItemCompleted(item=opened.ended()), True)]
            before += self._go_on(key, opened, opened.before + 1, delta.content_index)
        return [*before, *self._delta(delta, synthetic)]

    def _go_on(self, key: str, ended: OpenItem, before: int, shift: int) -> Iterator[Emission]:
        """Another item for the rest of an item that was ended."""
        item = replace(ended.item, item_id=self._ids.next(key, ended.item.item_id), content=[])
        self._open[key] = OpenItem(item, before=before, shift=shift)
        yield Emission(ItemStarted(item=item), True)

    def _complete(self, item: Item, synthetic: bool) -> Iterator[Emission]:
        key = item.item_id
        if key not in self._open and key in self._ids:
            return
        *earlier, last = message_parts.pieces(item, self._open.get(key))
        for piece in earlier:
            yield from self._complete_one(piece, synthetic)
            self._ids.leave(piece.item_id)
        yield from self._complete_one(last, synthetic)

    def _complete_one(self, item: Item, synthetic: bool) -> Iterator[Emission]:
        key = item.item_id
        if item.kind == "tool_result":
            for call in self._ids.missing_calls(item):
                yield from self._complete(call, synthetic=True)
        if key not in self._open:
            opened = OpenItem(self._ids.started(item, self.turn_id))
            yield Emission(ItemStarted(item=opened.item), True)
        else:
            opened = self._open.pop(key)
        final = opened.final(item)
        for delta in opened.missing(final):
            yield Emission(delta, True)
        yield Emission(ItemCompleted(item=opened.settled(final)), synthetic)

    def _fail(self, key: str, why: str) -> Iterator[Emission]:
        item = self._open.pop(key).failed(why)
        if item.role == "user" and not item.subagent:  # of a daemon that was killed before the echo came
            item = replace(item, status="completed", error=None)
        yield Emission(ItemCompleted(item=item), True)

    # -- after a restart ------------------------------------------------------------------------------------

    def resume(self) -> None:
        """The agent of the open turn still runs, on a runner. It has not repeated the open messages of users yet."""
        self._open = {opened.root: opened for opened in self._open.values()}
        for root, opened in self._open.items():
            self._ids.add(root, opened.item.item_id)
        users = [opened.item for opened in self._open.values() if opened.item.role == "user"]
        self._unechoed = [[item] for item in users if not item.subagent]

    def observe(self, data: EventData) -> None:
        """Follow an event that is in the log already: after the open turn's events, the state is as it was."""
        match data:
            case TurnStarted():
                self.turn_id = data.turn_id
            case TurnEnded():
                self.turn_id = None
            case ItemStarted():
                self._observe_item(data.item)
            case ItemDelta():
                opened = self._open.get(data.item_id)
                if opened:
                    opened.grow(data)
            case ItemCompleted():
                ended = self._open.pop(data.item.item_id, None)
                if ended and self._derived:
                    self._rests[next_id(data.item.item_id)] = ended.rest(data.item)
            case PermissionRequested() | QuestionRequested() | ToolRequested():
                self.asks.observe(data)
            case PermissionResolved() | QuestionResolved() | ToolResolved():
                self.asks.forget(data)
            case _:
                return

    def _observe_item(self, item: Item) -> None:
        self._ids.observe(item)
        opened = self._open[item.item_id] = self._rests.get(item.item_id) or OpenItem(item)
        opened.item = item
