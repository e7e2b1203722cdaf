"""The items of a session's threads - its own and its sub-agents' - as drafts. Remembers what is open; no I/O."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from everyagent.agents import items
from everyagent.agents.adapter import Draft, Synthetic
from everyagent.agents.codex.decode import tools
from everyagent.agents.codex.decode.subagents import Subagents
from everyagent.agents.codex.decode.tools import Call, result_key
from everyagent.agents.codex.protocol.wire import Delta, ModelItemNotice, UserPart
from everyagent.agents.codex.protocol.wire import Item as NativeItem
from everyagent.model.events import DeltaKind, ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import ReasoningPart, StatusPart, TextPart, ToolCallPart, ToolResultPart

#: So many calls that outlived their turn are remembered, to tell when they end.
REMEMBERED = 256


class Stream:
    """A message or a reasoning that is being told; `summaries` is how many parts of a summary it has."""

    __slots__ = ("name", "summaries", "thread")

    def __init__(self, thread: str, name: str | None) -> None:
        self.thread = thread
        self.name = name
        self.summaries = 0


class Threads:
    """`main` is the session's own thread. Keys of items in other threads carry the thread's id."""

    def __init__(self) -> None:
        self.main: str | None = None
        self.calls: dict[str, Call] = {}
        self.subagents = Subagents()
        self._streams: dict[str, Stream] = {}
        self._outputs: set[str] = set()  # keys of calls whose results have begun
        self._outlived: dict[str, NativeItem] = {}
        self._told: set[str] = set()  # keys of the calls of this turn that Codex has told an item of
        self._untold: dict[str, NativeItem] = {}  # calls of the model of which it has not, yet
        self._announced: set[str] = set()  # keys of calls that were told before Codex did
        self._typed = 0

    def key(self, thread: str, id: str) -> str:
        return id if thread == self.main else f"{thread} {id}"

    def is_child(self, thread: str) -> bool:
        return thread != self.main

    # -- items --------------------------------------------------------------------------------------------------

    def started(self, thread: str, item: NativeItem) -> Sequence[Draft] | None:
        """None for an item of a type that nobody knows."""
        handlers = MAPPED.get(item.type)
        return handlers[0](self, thread, item) if handlers else None

    def completed(self, thread: str, item: NativeItem) -> Sequence[Draft] | None:
        handlers = MAPPED.get(item.type)
        return handlers[1](self, thread, item) if handlers else None

    def said(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        name = "plan" if item.type == "plan" else item.phase
        self._streams[key] = Stream(thread, name)
        return (ItemStarted(item=items.message(key, native=item.id, subagent=self.subagent(thread), name=name)),)

    def said_all(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        self._streams.pop(key, None)
        self.subagents.says(thread, item.text)
        said = items.message(
            key,
            native=item.id,
            subagent=self.subagent(thread),
            content=[TextPart(text=item.text)] if item.text else [],
            status="completed",
            name="plan" if item.type == "plan" else item.phase,
        )
        return (ItemCompleted(item=said),)

    def thought_all(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        """Much reasoning has no words to show, so it begins only when some come."""
        key = self.key(thread, item.id)
        begun = self._streams.pop(key, None)
        parts = [ReasoningPart(text=text, visibility="public") for text in item.summary]
        parts += [ReasoningPart(text=str(text), visibility="private") for text in item.content]
        if not begun and not parts:
            return ()
        thought = items.message(
            key, native=item.id, subagent=self.subagent(thread), content=parts, status="completed", name="reasoning"
        )
        return (ItemCompleted(item=thought),)

    def called(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        call = Call(self.key(thread, item.id), item, thread, self.subagent(thread))
        self._tell(call.key)
        self.calls[call.key] = call
        self.subagents.adopt(call.key, item.receiver_thread_ids)
        if call.key in self._announced:
            self._announced.discard(call.key)
            return ()
        begun = tools.call(call, complete=False)
        if tools.TYPES[item.type]:
            return (ItemStarted(item=begun), ItemCompleted(item=replace(begun, status="completed")))
        return (ItemStarted(item=begun),)

    def announced(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        """A call that Codex will tell of, if it may be carried out."""
        drafts = self.called(thread, item)
        self._announced.add(self.key(thread, item.id))
        return drafts

    def returned(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        if key in self._outlived:
            return self._ended_late(key, item)
        self._tell(key)
        self._announced.discard(key)
        known = self.calls.pop(key, None)
        call = Call(key, item, thread, self.subagent(thread))
        self.subagents.adopt(key, item.receiver_thread_ids)
        drafts: list[Draft] = []
        if known is None or not tools.TYPES[item.type]:
            drafts.append(ItemCompleted(item=tools.call(call, complete=True)))
        if key in self._outputs:
            self._outputs.discard(key)
        else:
            drafts.append(ItemStarted(item=tools.begun(call)))
        return [*drafts, ItemCompleted(item=tools.result(call))]

    def _ended_late(self, key: str, item: NativeItem) -> Sequence[Draft]:
        del self._outlived[key]
        how = f"with exit code {item.exit_code}" if item.exit_code is not None else str(item.status)
        label = f"A command that had outlived its turn ended {how}"
        return items.notice(f"{key} late", "background_command", label, item.aggregated_output)

    def active(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        """A sub-agent begins, is spoken to, or ends: its beginning is a call, its end that call's result."""
        child, key = item.agent_thread_id, self.key(thread, item.id)
        if item.kind == "started":
            if not self.subagents.begin(child, key, thread, item.agent_path):
                return ()
            arguments = f'{{"agent":"{item.agent_path}"}}'
            part = ToolCallPart(name=tools.SPAWN, arguments=arguments, call_id=key)
            subagent = self.subagent(thread)
            return items.whole(items.call(key, part, native=item.id, subagent=subagent, status="completed"))
        if item.kind in ("completed", "interrupted") and (told := self.subagent_returned(child, item.kind)):
            return told
        label = f"Sub-agent {item.agent_path} {item.kind}"
        return items.notice(f"{key} {item.kind}", "subagent", label)

    def subagent_returned(self, thread: str, how: str) -> Sequence[Draft]:
        """The result of the call that made it, once."""
        returned, interrupted = self.subagents.returns(thread), how == "interrupted"
        if returned is None:
            return ()
        result = items.result(
            result_key(returned.call),
            tools.SPAWN,
            [ToolResultPart(call_id=returned.call, output=returned.words, is_error=interrupted)],
            native=returned.call,
            subagent=None,
            status="failed" if interrupted else "completed",
            error="The sub-agent was interrupted." if interrupted else None,
        )
        return (ItemCompleted(item=result),)

    def echoed(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        """The session's own messages are items already; what a sub-agent was told is not."""
        if not self.is_child(thread):
            return ()
        text = "\n".join(msgspec.convert(part, UserPart).text for part in item.content)
        told = items.message(
            self.key(thread, item.id),
            native=item.id,
            subagent=self.subagent(thread),
            role="user",
            content=[TextPart(text=text)],
            status="completed",
        )
        return (ItemCompleted(item=told),)

    def compacting(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        return (ItemStarted(item=self._compaction(thread, item, "in_progress")),)

    def compacted(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        return (ItemCompleted(item=self._compaction(thread, item, "completed")),)

    def _compaction(self, thread: str, item: NativeItem, state: ItemStatus) -> Item:
        part = StatusPart(label="Compacting the conversation" if state == "in_progress" else "Conversation compacted")
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        return items.status(key, "compaction", [part], native=item.id, subagent=subagent, state=state)

    def noted(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        words = item.review or "\n".join(str(fragment.get("text", "")) for fragment in item.fragments)
        part = StatusPart(label=_NOTES[item.type], detail=words or None)
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        return items.whole(items.status(key, item.type, [part], native=item.id, subagent=subagent))

    def put_out(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        output = item.output if isinstance(item.output, str) else msgspec.json.encode(item.output).decode()
        part = ToolResultPart(call_id=key, output=output)
        name = item.name or "unknown"
        return items.whole(
            items.result(result_key(key), name, [part], native=item.id, subagent=subagent, status="completed")
        )

    def nothing(self, thread: str, item: NativeItem) -> Sequence[Draft]:
        return ()

    def by_model(self, notice: ModelItemNotice) -> Sequence[Draft]:
        """A call that Codex refuses at once has no item of its own: it is told when the model hears of that."""
        key, item = self.key(notice.thread_id, notice.item.call_id), notice.item
        untold = tools.called_by_model(item)
        if untold:
            if key not in self._told:
                self._untold[key] = untold
            return ()
        if not item.type.endswith("_output") or key not in self._untold:
            return ()
        return self.returned(notice.thread_id, tools.refused(self._untold[key], item))

    def is_told(self, call: str) -> bool:
        """An item was told of this call of the session's own thread."""
        return call in self._told or call in self._outlived

    def _tell(self, key: str) -> None:
        self._told.add(key)
        self._untold.pop(key, None)

    # -- deltas -------------------------------------------------------------------------------------------------

    def text(self, delta: Delta) -> Sequence[Draft]:
        return (_delta(self.key(delta.thread_id, delta.item_id), delta.item_id, delta.delta, 0, "text"),)

    def summary_part(self, delta: Delta) -> Sequence[Draft]:
        key, drafts = self._thinking(delta)
        self._streams[key].summaries = max(self._streams[key].summaries, delta.summary_index + 1)
        return drafts

    def summary(self, delta: Delta) -> Sequence[Draft]:
        key, drafts = self._thinking(delta)
        return (*drafts, _delta(key, delta.item_id, delta.delta, delta.summary_index, "reasoning"))

    def thought(self, delta: Delta) -> Sequence[Draft]:
        """The model's own words come after their summary."""
        key, drafts = self._thinking(delta)
        index = self._streams[key].summaries + delta.content_index
        return (*drafts, _delta(key, delta.item_id, delta.delta, index, "reasoning"))

    def output(self, delta: Delta) -> Sequence[Draft]:
        key = self.key(delta.thread_id, delta.item_id)
        piece = _delta(result_key(key), delta.item_id, delta.delta or delta.message, 0, "tool_output")
        call = self.calls.get(key)
        if key in self._outputs or call is None:
            return (piece,) if key in self._outputs else ()
        self._outputs.add(key)
        return (ItemStarted(item=tools.begun(call)), piece)

    def typed(self, delta: Delta) -> Sequence[Draft]:
        """The agent wrote to a running command. Looking at its output is writing nothing."""
        if not delta.stdin:
            return ()
        key = self.key(delta.thread_id, delta.item_id)
        part = StatusPart(label="Wrote to the running command", detail=delta.stdin)
        self._typed += 1
        return items.whole(items.status(f"{key} stdin {self._typed}", "terminal_input", [part]))

    def _thinking(self, delta: Delta) -> tuple[str, tuple[Draft, ...]]:
        key = self.key(delta.thread_id, delta.item_id)
        if key in self._streams:
            return key, ()
        self._streams[key] = Stream(delta.thread_id, "reasoning")
        subagent = self.subagent(delta.thread_id)
        return key, (ItemStarted(item=items.message(key, native=delta.item_id, subagent=subagent, name="reasoning")),)

    # -- ends ---------------------------------------------------------------------------------------------------

    def starts_over(self, thread: str, why: str) -> Iterator[Draft]:
        """The model's stream was cut: what it was saying is said again, under new ids."""
        for key, stream in [(key, stream) for key, stream in self._streams.items() if stream.thread == thread]:
            del self._streams[key]
            native, subagent = key.rpartition(" ")[2], self.subagent(thread)
            cut = items.message(key, native=native, subagent=subagent, status="failed", name=stream.name, error=why)
            yield Synthetic(ItemCompleted(item=cut))

    def ended(self, thread: str, why: str) -> Iterator[Draft]:
        """A turn of this thread is over: what Codex left open gets its end."""
        yield from self.starts_over(thread, why)
        if not self.is_child(thread):
            self._told.clear()
            self._untold.clear()
        for key, call in list(self.calls.items()):
            if call.thread != thread:
                continue
            del self.calls[key]
            self._announced.discard(key)
            if call.item.type == "commandExecution":
                self._outlived[key] = call.item
                if len(self._outlived) > REMEMBERED:
                    del self._outlived[next(iter(self._outlived))]
            if not tools.TYPES[call.item.type]:
                yield Synthetic(ItemCompleted(item=tools.call(call, complete=True)))
            if key not in self._outputs:
                yield Synthetic(ItemStarted(item=tools.begun(call)))
            self._outputs.discard(key)
            yield Synthetic(ItemCompleted(item=tools.cut(call, why)))

    # -- sub-agents ---------------------------------------------------------------------------------------------

    def subagent(self, thread: str) -> str | None:
        return self.subagents.call_of(thread) if self.is_child(thread) else None


def _delta(key: str, native: str, text: str, index: int, kind: DeltaKind) -> ItemDelta:
    return ItemDelta(item_id=key, native_item_id=native, delta=text, content_index=index, kind=kind)


_NOTES = {
    "sleep": "Slept",
    "enteredReviewMode": "Review began",
    "exitedReviewMode": "Review ended",
    "hookPrompt": "A hook spoke to the model",
}


Handler: TypeAlias = Callable[[Threads, str, NativeItem], Sequence[Draft] | None]

#: Every item type of the native schema: what its start and its completion become.
MAPPED: dict[str, tuple[Handler, Handler]] = {
    "userMessage": (Threads.nothing, Threads.echoed),
    "agentMessage": (Threads.said, Threads.said_all),
    "plan": (Threads.said, Threads.said_all),
    "reasoning": (Threads.nothing, Threads.thought_all),
    "subAgentActivity": (Threads.active, Threads.nothing),
    "contextCompaction": (Threads.compacting, Threads.compacted),
    "functionCallOutput": (Threads.nothing, Threads.put_out),
    **dict.fromkeys(tools.TYPES, (Threads.called, Threads.returned)),
    **dict.fromkeys(_NOTES, (Threads.nothing, Threads.noted)),
}
