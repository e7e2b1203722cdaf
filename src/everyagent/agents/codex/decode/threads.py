"""Decodes the items of a session's threads, its own and its sub-agents', into drafts. Remembers open items; no I/O."""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import msgspec
from msgspec.structs import replace

from everyagent.agents import items
from everyagent.agents.adapter import Draft, Echo, Synthetic
from everyagent.agents.codex.decode import tools
from everyagent.agents.codex.decode.item_keys import ThreadItemKeys
from everyagent.agents.codex.decode.subagents import Subagents
from everyagent.agents.codex.decode.tools import CodexCall, result_key
from everyagent.agents.codex.protocol.wire import CodexDelta
from everyagent.agents.codex.protocol.wire_items import CodexItem, ModelItemNotice, UserPart
from everyagent.agents.memory import remember
from everyagent.model.events import DeltaKind, ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import ReasoningPart, StatusPart, TextPart, ToolCallPart, ToolResultPart

#: Commands that outlived their turn and are remembered, to report their end.
REMEMBERED = 256


class OpenMessage:
    """A message or a reasoning that streams; `summaries` counts the parts of its summary."""

    __slots__ = ("name", "native", "summaries", "thread")

    def __init__(self, thread: str, native: str, name: str | None) -> None:
        self.thread = thread
        self.native = native
        self.name = name
        self.summaries = 0


class ThreadItems:
    """`commands_ask`: the session's tool policies ask for every command."""

    def __init__(self) -> None:
        self.keys = ThreadItemKeys()
        self.key = self.keys.key
        self.calls: dict[str, CodexCall] = {}
        self.subagents = Subagents()
        self._open: dict[str, OpenMessage] = {}
        self._outputs: set[str] = set()  # keys of calls whose results have begun
        self._outlived: dict[str, str] = {}  # commands that outlived their turn, by plain key
        self._itemized: set[str] = set()  # keys of this turn's calls for which Codex has sent an item
        self._unitemized: dict[str, CodexItem] = {}  # calls of the model for which it has not, yet
        self._announced: set[str] = set()  # keys of calls that began before Codex sent their item
        self._inputs = 0
        self.commands_ask = False

    def is_child(self, thread: str) -> bool:
        return thread != self.keys.main

    # -- items --------------------------------------------------------------------------------------------------

    def started(self, thread: str, item: CodexItem) -> Sequence[Draft] | None:
        """None for an item of an unknown type."""
        handlers = MAPPED.get(item.type)
        if handlers is None:
            return None
        self.keys.begin(thread, item.id)
        return handlers[0](self, thread, item)

    def completed(self, thread: str, item: CodexItem) -> Sequence[Draft] | None:
        handlers = MAPPED.get(item.type)
        if handlers is None:
            return None
        if self.keys.is_late(thread, item.id):
            return self._completed_late(thread, item)
        drafts = handlers[1](self, thread, item)
        self.keys.complete(self.key(thread, item.id))
        return drafts

    def message_started(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        name = "plan" if item.type == "plan" else item.phase
        self._open[key] = OpenMessage(thread, item.id, name)
        return (ItemStarted(item=items.message(key, native=item.id, subagent=self.subagent(thread), name=name)),)

    def message_completed(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        self._open.pop(key, None)
        self.subagents.message(thread, item.text)
        message = items.message(
            key,
            native=item.id,
            subagent=self.subagent(thread),
            content=[TextPart(text=item.text)] if item.text else [],
            status="completed",
            name="plan" if item.type == "plan" else item.phase,
        )
        return (ItemCompleted(item=message),)

    def reasoning_completed(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        """Much reasoning has no text, so the item starts with the first text."""
        key = self.key(thread, item.id)
        begun = self._open.pop(key, None)
        parts = [ReasoningPart(text=text, visibility="public") for text in item.summary]
        parts += [ReasoningPart(text=str(text), visibility="private") for text in item.content]
        if not begun and not parts:
            return ()
        thought = items.message(
            key, native=item.id, subagent=self.subagent(thread), content=parts, status="completed", name="reasoning"
        )
        return (ItemCompleted(item=thought),)

    def called(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        call = CodexCall(self.key(thread, item.id), item, thread, self.subagent(thread))
        self._has_item(call.key)
        self.calls[call.key] = call
        self.subagents.adopt(call.key, item.receiver_thread_ids)
        if call.key in self._announced:
            self._announced.discard(call.key)
            return ()
        begun = tools.call(call, complete=False)
        if tools.TYPES[item.type]:
            return (ItemStarted(item=begun), ItemCompleted(item=replace(begun, status="completed")))
        return (ItemStarted(item=begun),)

    def announced(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        """A call for which Codex will send an item, if it is allowed to run."""
        key = self.keys.begin(thread, item.id)
        drafts = self.called(thread, item)
        self._announced.add(key)
        return drafts

    def returned(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        key = self.key(thread, item.id)
        self._has_item(key)
        self._announced.discard(key)
        known = self.calls.pop(key, None)
        call = CodexCall(key, item, thread, self.subagent(thread))
        self.subagents.adopt(key, item.receiver_thread_ids)
        drafts: list[Draft] = []
        if known is None or not tools.TYPES[item.type]:
            drafts.append(ItemCompleted(item=tools.call(call, complete=True)))
        self._outputs.discard(key)
        return [*drafts, ItemCompleted(item=tools.result(call))]

    def _completed_late(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        """An item that is completed after its turn ended: only the end of a command is reported."""
        key = self._outlived.pop(self.keys.plain(thread, item.id), None)
        if key is None:
            return ()
        how = f"with exit code {item.exit_code}" if item.exit_code is not None else str(item.status)
        label = f"A command that had outlived its turn ended {how}"
        return items.notice(f"{key} late", "background_command", label, item.aggregated_output)

    def active(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        """A sub-agent starts, gets a message, or ends: its start is a call, its end the result of that call."""
        child, key = item.agent_thread_id, self.key(thread, item.id)
        if item.kind == "started":
            if not self.subagents.begin(child, key, item.id, thread, item.agent_path):
                return ()
            arguments = f'{{"agent":"{item.agent_path}"}}'
            part = ToolCallPart(name=tools.SPAWN, arguments=arguments, call_id=key)
            subagent = self.subagent(thread)
            return items.whole(items.call(key, part, native=item.id, subagent=subagent, status="completed"))
        if item.kind in ("completed", "interrupted") and (result := self.subagent_returned(child, item.kind)):
            return result
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
            [ToolResultPart(call_id=returned.call, output=returned.text, is_error=interrupted)],
            native=returned.native,
            subagent=None,
            status="failed" if interrupted else "completed",
            error="The sub-agent was interrupted." if interrupted else None,
        )
        return (ItemCompleted(item=result),)

    def echoed(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        """The session's own user messages are items already; a sub-agent's prompt is not."""
        if not self.is_child(thread):
            return (Echo(item.id),)
        text = "\n".join(msgspec.convert(part, UserPart).text for part in item.content)
        prompt = items.message(
            self.key(thread, item.id),
            native=item.id,
            subagent=self.subagent(thread),
            role="user",
            content=[TextPart(text=text)],
            status="completed",
        )
        return (ItemCompleted(item=prompt),)

    def compacting(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        return (ItemStarted(item=self._compaction(thread, item, "in_progress")),)

    def compacted(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        return (ItemCompleted(item=self._compaction(thread, item, "completed")),)

    def _compaction(self, thread: str, item: CodexItem, state: ItemStatus) -> Item:
        part = StatusPart(label="Compacting the conversation" if state == "in_progress" else "Conversation compacted")
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        return items.status(key, "compaction", [part], native=item.id, subagent=subagent, state=state)

    def noted(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        words = item.review or "\n".join(str(fragment.get("text", "")) for fragment in item.fragments)
        part = StatusPart(label=_NOTES[item.type], detail=words or None)
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        return items.whole(items.status(key, item.type, [part], native=item.id, subagent=subagent))

    def put_out(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        key, subagent = self.key(thread, item.id), self.subagent(thread)
        output = item.output if isinstance(item.output, str) else msgspec.json.encode(item.output).decode()
        part = ToolResultPart(call_id=key, output=output)
        name = item.name or "unknown"
        return items.whole(
            items.result(result_key(key), name, [part], native=item.id, subagent=subagent, status="completed")
        )

    def nothing(self, thread: str, item: CodexItem) -> Sequence[Draft]:
        return ()

    def by_model(self, notice: ModelItemNotice) -> Sequence[Draft]:
        """A call that Codex refuses at once has no native item: it is reported with the output that the model gets.

        One of a custom tool, or of a command that needs a permission, is reported before Codex makes it.
        """
        thread, item = notice.thread_id, notice.item
        if announced := tools.announced_by_model(item, commands=self.commands_ask):
            return self.announced(thread, announced)
        call = tools.called_by_model(item)
        if call:
            late = self.keys.is_late(thread, item.call_id)
            key = self.keys.begin(thread, item.call_id) if late else self.key(thread, item.call_id)
            if key not in self._itemized:
                self._unitemized[key] = call
            return ()
        if not item.type.endswith("_output"):
            return ()
        key = self.key(thread, item.call_id)
        refused = self.calls[key].item if key in self._announced else self._unitemized.get(key)
        return self.returned(thread, tools.refused(refused, item)) if refused else ()

    def has_item(self, call: str) -> bool:
        """Codex sent an item for this call of the session's own thread."""
        return self.keys.find(self.keys.main or "", call) in self._itemized or call in self._outlived

    def _has_item(self, key: str) -> None:
        self._itemized.add(key)
        self._unitemized.pop(key, None)

    # -- deltas -------------------------------------------------------------------------------------------------

    def text(self, delta: CodexDelta) -> Sequence[Draft]:
        return (_delta(self.key(delta.thread_id, delta.item_id), delta.item_id, delta.delta, 0, "text"),)

    def summary_part(self, delta: CodexDelta) -> Sequence[Draft]:
        key, drafts = self._thinking(delta)
        self._open[key].summaries = max(self._open[key].summaries, delta.summary_index + 1)
        return drafts

    def summary(self, delta: CodexDelta) -> Sequence[Draft]:
        key, drafts = self._thinking(delta)
        return (*drafts, _delta(key, delta.item_id, delta.delta, delta.summary_index, "reasoning"))

    def thought(self, delta: CodexDelta) -> Sequence[Draft]:
        """The model's own text follows its summary."""
        key, drafts = self._thinking(delta)
        index = self._open[key].summaries + delta.content_index
        return (*drafts, _delta(key, delta.item_id, delta.delta, index, "reasoning"))

    def output(self, delta: CodexDelta) -> Sequence[Draft]:
        key = self.key(delta.thread_id, delta.item_id)
        piece = _delta(result_key(key), delta.item_id, delta.delta or delta.message, 0, "tool_output")
        call = self.calls.get(key)
        if key in self._outputs or call is None:
            return (piece,) if key in self._outputs else ()
        self._outputs.add(key)
        return (Synthetic(ItemStarted(item=tools.begun(call))), piece)

    def typed(self, delta: CodexDelta) -> Sequence[Draft]:
        """The agent wrote to a running command. An empty text only reads its output."""
        if not delta.stdin:
            return ()
        key = self.key(delta.thread_id, delta.item_id)
        part = StatusPart(label="Wrote to the running command", detail=delta.stdin)
        self._inputs += 1
        return items.whole(items.status(f"{key} stdin {self._inputs}", "terminal_input", [part]))

    def _thinking(self, delta: CodexDelta) -> tuple[str, tuple[Draft, ...]]:
        key = self.key(delta.thread_id, delta.item_id)
        if key in self._open:
            return key, ()
        self._open[key] = OpenMessage(delta.thread_id, delta.item_id, "reasoning")
        subagent = self.subagent(delta.thread_id)
        begun = items.message(key, native=delta.item_id, subagent=subagent, name="reasoning")
        return key, (Synthetic(ItemStarted(item=begun)),)

    # -- ends ---------------------------------------------------------------------------------------------------

    def starts_over(self, thread: str, why: str) -> Iterator[Draft]:
        """The model's stream was cut: the model repeats its open messages, under new ids."""
        for key, message in [(key, each) for key, each in self._open.items() if each.thread == thread]:
            del self._open[key]
            subagent = self.subagent(thread)
            cut = items.message(
                key, native=message.native, subagent=subagent, status="failed", name=message.name, error=why
            )
            yield Synthetic(ItemCompleted(item=cut))

    def ended(self, thread: str, why: str) -> Iterator[Draft]:
        """A turn of this thread is over: items that Codex left open are closed."""
        yield from self.starts_over(thread, why)
        if not self.is_child(thread):
            self._itemized.clear()
            self._unitemized.clear()
        for key, call in [(key, call) for key, call in self.calls.items() if call.thread == thread]:
            del self.calls[key]
            self._announced.discard(key)
            if call.item.type == "commandExecution":
                remember(self._outlived, self.keys.plain(thread, call.item.id), key, REMEMBERED)
            if not tools.TYPES[call.item.type]:
                yield Synthetic(ItemCompleted(item=tools.call(call, complete=True)))
            if key not in self._outputs:
                yield Synthetic(ItemStarted(item=tools.begun(call)))
            self._outputs.discard(key)
            yield Synthetic(ItemCompleted(item=tools.cut(call, why)))
        self.keys.turn_over(thread)

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


Handler: TypeAlias = Callable[[ThreadItems, str, CodexItem], Sequence[Draft] | None]

#: Every item type of the native schema: what its start and its completion become.
MAPPED: dict[str, tuple[Handler, Handler]] = {
    "userMessage": (ThreadItems.nothing, ThreadItems.echoed),
    "agentMessage": (ThreadItems.message_started, ThreadItems.message_completed),
    "plan": (ThreadItems.message_started, ThreadItems.message_completed),
    "reasoning": (ThreadItems.nothing, ThreadItems.reasoning_completed),
    "subAgentActivity": (ThreadItems.active, ThreadItems.nothing),
    "contextCompaction": (ThreadItems.compacting, ThreadItems.compacted),
    "functionCallOutput": (ThreadItems.nothing, ThreadItems.put_out),
    **dict.fromkeys(tools.TYPES, (ThreadItems.called, ThreadItems.returned)),
    **dict.fromkeys(_NOTES, (ThreadItems.nothing, ThreadItems.noted)),
}
