"""Decodes tool calls into items: one record for each id, made by whichever message names it first. Pure."""

import re
from collections.abc import Callable, Sequence

import msgspec
from msgspec import Raw

from everyagent.agents import items
from everyagent.agents.acp import names, results
from everyagent.agents.acp.profile import Profile
from everyagent.agents.acp.wire import NULL, AcpLocation, AcpToolCall, CallContent
from everyagent.agents.acp.wire_meta import CallMeta
from everyagent.agents.adapter import Draft, Synthetic
from everyagent.agents.item_keys import ItemKeys
from everyagent.agents.memory import remember
from everyagent.model.events import ItemCompleted, ItemDelta, ItemStarted
from everyagent.model.items import Item, ItemStatus
from everyagent.model.parts import ToolCallPart, ToolResultPart
from everyagent.model.tools import TOOLS_SERVER

#: So many calls of earlier turns are remembered, to recognize updates that come late.
REMEMBERED = 4096
#: So many characters of live output are kept, for agents that do not repeat it in the result.
LIVE_CHARS = 1024 * 1024
_ENDED = frozenset({"completed", "failed"})
_EMPTY = frozenset({b"null", b"{}", b'""', b"[]"})
_UNREPORTED = "The agent did not report how this call ended."

_metas = msgspec.json.Decoder(CallMeta)
NO_META = CallMeta()


class AcpCall:
    """The merged fields of a call so far. `called` and `ended`: its item, and its result's item, are complete.

    `bare`: the agent reports that its input is empty.
    """

    __slots__ = (
        "bare",
        "called",
        "content",
        "ended",
        "input",
        "key",
        "kind",
        "live",
        "locations",
        "name",
        "native",
        "output",
        "subagent",
        "title",
    )

    def __init__(self, key: str, native: str) -> None:
        self.key = key
        self.native = native
        self.name: str | None = None
        self.title: str | None = None
        self.kind: str | None = None
        self.input: Raw = NULL
        self.output: Raw = NULL
        self.content: list[CallContent] = []
        self.locations: list[AcpLocation] = []
        self.live = ""
        self.subagent: str | None = None
        self.bare = False
        self.called = False
        self.ended = False

    @property
    def arguments(self) -> str:
        """The call's input as JSON text; only its title if the agent does not report the input."""
        if self.reported:
            return bytes(self.input).decode() if bytes(self.input) not in _EMPTY else "{}"
        return msgspec.json.encode({"title": self.title}).decode() if self.title else "{}"

    @property
    def reported(self) -> bool:
        """Whether the agent has reported the input."""
        return self.bare or bytes(self.input) not in _EMPTY


class AcpCalls:
    """The calls of one conversation. `servers` are the names of its MCP servers.

    `terminal` returns the output and exit code of a terminal that the daemon runs for the agent.
    """

    def __init__(
        self,
        profile: Profile,
        servers: Sequence[str],
        terminal: Callable[[str], tuple[str, int | None] | None] = lambda _: None,
    ) -> None:
        self._profile = profile
        self._servers = servers
        self._terminal = terminal
        self._exit_words = re.compile(profile.exit_words) if profile.exit_words else None
        self._calls: dict[str, AcpCall] = {}
        self._past: dict[str, None] = {}
        self._delegates: dict[str, str] = {}  # id of a sub-agent -> key of the call that started it
        self.keys = ItemKeys()

    def announced(self, update: AcpToolCall) -> Sequence[Draft]:
        """A `tool_call`: a new call, even if its id was used in an earlier turn."""
        return self._merged(update, new=update.tool_call_id not in self._calls)

    def updated(self, update: AcpToolCall) -> Sequence[Draft]:
        """A `tool_call_update`. One that belongs to an earlier turn has no meaning any more."""
        if update.tool_call_id not in self._calls and update.tool_call_id in self._past:
            return ()
        return self._merged(update, new=update.tool_call_id not in self._calls)

    def asked(self, update: AcpToolCall) -> tuple[AcpCall, Sequence[Draft]]:
        """The call of a permission request, with the drafts that complete its item: its input is known now."""
        native = update.tool_call_id or "call"
        known = self._calls.get(native)
        # The content of a request describes it, and is no output of the call; its input may be a description, too.
        given = NULL if known and bytes(known.input) not in _EMPTY else update.raw_input
        asked = msgspec.structs.replace(update, status=None, content=_diffs(update.content) or None, raw_input=given)
        drafts = [*self._merged(asked, new=known is None)]
        call = self._calls[native]
        return call, [*drafts, *self._called(call)]

    def named(self, call: AcpCall) -> names.ToolName:
        return names.split(call.name or names.fallback(call.kind, call.title), self._servers)

    def judged(self, call: AcpCall) -> names.ToolName:
        """The tool to which policies apply: a request for one of the agent's own is not decided by a call's title."""
        tool = self.named(call)
        titled = self._profile.tool_names == "kind" and tool.server is not None
        return names.ToolName(names.fallback(call.kind, None)) if titled and names.is_own(call.kind) else tool

    def end_turn(self) -> Sequence[Draft]:
        """Calls that the agent left open failed: their results are the daemon's."""
        drafts: list[Draft] = []
        for call in self._calls.values():
            if call.called and not call.ended:
                drafts += [Synthetic(draft) for draft in self._result(call, "failed", NO_META, _UNREPORTED)]
            remember(self._past, call.native, None, REMEMBERED)
        self._calls.clear()
        self._delegates.clear()
        self.keys.end_turn()
        return drafts

    # -- one message ----------------------------------------------------------------------------------------------

    def _merged(self, update: AcpToolCall, *, new: bool) -> Sequence[Draft]:
        native = update.tool_call_id or "call"
        meta = meta_of(update.meta)
        drafts: list[Draft] = []
        if new:
            call = self._calls[native] = AcpCall(self.keys.begin(native), native)
            call.subagent = self._delegate(meta)
            self._take(call, update, meta)
            drafts.append(ItemStarted(item=self._item(call, "in_progress")))
        else:
            call = self._calls[native]
            if call.ended:
                return ()
            self._take(call, update, meta)
        complete = update.status == "in_progress" or (new and self._profile.whole_calls)
        if complete:
            call.bare = call.bare or bytes(update.raw_input) == b"{}"
        if complete and call.reported:
            drafts += self._called(call)
        drafts += self._live(call, update, meta)
        if update.status in _ENDED:
            drafts += self._called(call)
            drafts += self._result(call, "failed" if update.status == "failed" else "completed", meta, None)
        return drafts

    def _take(self, call: AcpCall, update: AcpToolCall, meta: CallMeta) -> None:
        """Absent fields keep their value; content replaces, but a diff is kept when later content has none."""
        call.kind = update.kind or call.kind
        named = names.name_of(update, meta, self._profile.tool_names, self._servers)
        if self._profile.tool_names in ("meta", "id") or call.name is None:  # later titles describe the call
            call.name = named or call.name
        call.title = update.title or call.title
        if bytes(update.raw_input) not in _EMPTY:
            call.input = update.raw_input
        elif self._profile.arguments_in_content and update.status not in _ENDED:
            call.input = _typed_input(update.content) or call.input
        if bytes(update.raw_output) != b"null":
            call.output = update.raw_output
        if update.locations is not None:
            call.locations = update.locations or call.locations
        if update.content is not None:
            kept = [] if _diffs(update.content) else _diffs(call.content)
            call.content = [*kept, *update.content]

    def _called(self, call: AcpCall) -> Sequence[Draft]:
        if call.called:
            return ()
        call.called = True
        return (ItemCompleted(item=self._item(call, "completed")),)

    def _live(self, call: AcpCall, update: AcpToolCall, meta: CallMeta) -> Sequence[Draft]:
        """Output while the call runs: pieces in `_meta`, or content that is repeated and grows."""
        piece = ""
        if meta.terminal_output:
            piece = meta.terminal_output.data
        elif meta.notification and meta.notification.type == "live_output":
            piece = "".join(chunk.output for chunk in meta.notification.params.chunks)
        elif self._profile.live_content and call.kind == "execute" and update.status not in _ENDED and update.content:
            whole = "".join(results.text_of(each.content) for each in update.content if each.content)
            piece = whole[len(call.live) : LIVE_CHARS] if whole.startswith(call.live) else ""
        if not piece:
            return ()
        drafts: list[Draft] = [*self._called(call)]
        if not call.live:
            begun = self._result_item(call, ToolResultPart(call_id=call.native, output=""))
            drafts.append(Synthetic(ItemStarted(item=begun)))
        call.live = (call.live + piece)[-LIVE_CHARS:]
        drafts.append(
            ItemDelta(
                item_id=f"{call.key} result",
                native_item_id=call.native,
                delta=piece,
                content_index=0,
                kind="tool_output",
            )
        )
        return drafts

    def _result(
        self, call: AcpCall, status: ItemStatus, meta: CallMeta, error: str | None
    ) -> Sequence[ItemStarted | ItemCompleted]:
        call.ended = True
        output = results.output(call.content if error is None else (), call.output, call.live)
        text, code = output.text, output.exit_code
        for each in call.content:
            if each.type == "terminal" and (shown := self._terminal(each.terminal_id)):
                text, code = text or shown[0], shown[1] if code is None else code
        if meta.terminal_exit:
            code = meta.terminal_exit.exit_code
        if code is None and call.kind == "execute" and self._exit_words and (found := self._exit_words.search(text)):
            code = int(found[1])
        if code and call.kind == "execute" and status == "completed":
            status = "failed"
        part = ToolResultPart(
            call_id=call.native, output=text, is_error=status == "failed", exit_code=code, stderr=output.stderr
        )
        item = self._result_item(call, part)
        parts = [part, *results.files(call.content, call.locations, call.kind, call.output), *output.others]
        failure = (error or text or "The call failed.") if status == "failed" else None
        return (ItemCompleted(item=msgspec.structs.replace(item, status=status, content=parts, error=failure)),)

    # -- items ----------------------------------------------------------------------------------------------------

    def _item(self, call: AcpCall, status: ItemStatus) -> Item:
        name = self.named(call)
        known = call.reported or (status != "in_progress" and name.server != TOOLS_SERVER)
        arguments = call.arguments if known else ""  # the daemon gets the input of its own tools when they are called
        part = ToolCallPart(name=name.tool, arguments=arguments, call_id=call.native, mcp_server=name.server)
        return items.call(call.key, part, native=call.native, subagent=call.subagent, status=status)

    def _result_item(self, call: AcpCall, part: ToolResultPart) -> Item:
        empty = msgspec.structs.replace(part, output="", is_error=None, exit_code=None)
        return items.result(
            f"{call.key} result",
            self.named(call).tool,
            [empty],
            native=call.native,
            subagent=call.subagent,
            status="in_progress",
        )

    def _delegate(self, meta: CallMeta) -> str | None:
        """The call whose sub-agent makes this one: the latest open call without a sub-agent of its own."""
        agent = meta.copilot.agent_id if meta.copilot else None
        if agent is None:
            return None
        if agent not in self._delegates:
            waiting = [call.key for call in self._calls.values() if not call.ended and not call.subagent]
            if not waiting[:-1]:
                return None
            self._delegates[agent] = waiting[-2]
        return self._delegates[agent]


def meta_of(raw: Raw) -> CallMeta:
    """A `_meta` of an unknown shape is empty."""
    if raw is NULL:
        return NO_META
    try:
        return _metas.decode(raw)
    except msgspec.ValidationError:
        return NO_META


def _diffs(content: Sequence[CallContent] | None) -> list[CallContent]:
    return [each for each in content or [] if each.type == "diff"]


def _typed_input(content: Sequence[CallContent] | None) -> Raw | None:
    """The input of a call whose content is its JSON while the model still writes it; None until it is complete."""
    for each in content or []:
        text = each.content.text if each.content else ""
        if text.startswith("{") and text.endswith("}"):
            try:
                msgspec.json.decode(text)
            except (msgspec.DecodeError, RecursionError):
                return None
            return Raw(text.encode())
    return None
