"""Renders a turn's events in the terminal: messages on stdout, tool calls and everything else on stderr."""

import sys

import msgspec
from rich.text import Text

from everyagent.cli.ask_text import compact
from everyagent.cli.event_lines import error_text
from everyagent.cli.output import err, one_line, write_text
from everyagent.cli.usage_text import cost, tokens
from everyagent.client import AnyEvent
from everyagent.model.events import Error, ItemCompleted, ItemDelta, ItemStarted, TurnEnded, Unparsed
from everyagent.model.items import Item
from everyagent.model.parts import FileRefPart, ImagePart, Json, StatusPart, ToolCallPart, ToolResultPart


class TurnRenderer:
    def __init__(self) -> None:
        self._items: dict[str, Item] = {}
        self._error_shown = False
        self._open_line = ""  # which stream ended in the middle of a line: "out", "err" or none

    def show(self, event: AnyEvent) -> None:
        match event.data:
            case ItemStarted(item=item):
                self._items[item.item_id] = item
            case ItemDelta() as delta:
                self._delta(delta)
            case ItemCompleted(item=item):
                self._items.pop(item.item_id, None)
                self._completed(item)
            case Error() as error:
                self._error_shown = True
                self.say(f"! {error_text(error)}", "yellow" if error.retry else "red")
            case Unparsed() as unparsed:
                self.say(f"? unknown frame, kept as event {event.sequence}: {unparsed.error}", "dim")
            case TurnEnded() as ended:
                self._break_line()
                if ended.error and not self._error_shown:
                    self.say(f"! {ended.error}", "red")
            case _:
                pass

    def say(self, text: str, style: str = "") -> None:
        """Print a message to stderr on a new line."""
        self._break_line()
        err().print(Text(text, style=style))

    def _delta(self, delta: ItemDelta) -> None:
        item = self._items.get(delta.item_id)
        if item is None or item.role != "assistant":
            return
        match delta.kind:
            case "text" if item.subagent is None:
                self._continue("out")
                write_text(delta.delta)
            case "text" | "reasoning":
                self._continue("err")
                err().print(Text(delta.delta, style="dim"), end="")
            case "tool_input" | "tool_output":
                return
        if delta.delta:
            ended = delta.delta.endswith("\n")
            self._open_line = "" if ended else ("out" if delta.kind == "text" and item.subagent is None else "err")

    def _completed(self, item: Item) -> None:
        if item.kind == "message" and item.role == "assistant":
            self._break_line()
        for part in item.content:
            match part:
                case ToolCallPart():
                    server = f"{part.mcp_server}." if part.mcp_server else ""
                    self.say(f"● {server}{part.name}  {compact(_arguments(part.arguments))}", "cyan")
                case ToolResultPart():
                    self.say(f"  └ {_outcome(item, part)}", "red" if _went_wrong(item, part) else "dim")
                case FileRefPart():
                    self.say(f"  ± {part.action} {part.path}{_size(part.diff)}", "dim")
                case ImagePart():
                    self.say(f"▣ {part.path}", "dim")
                case StatusPart():
                    self.say(f"· {part.label}" + (f": {one_line(part.detail)}" if part.detail else ""), "dim")
                case _:
                    continue

    def _continue(self, stream: str) -> None:
        if self._open_line and self._open_line != stream:
            self._break_line()

    def _break_line(self) -> None:
        """End the unfinished line on its stream, so that the next output starts a new one."""
        match self._open_line:
            case "out":
                sys.stdout.write("\n")
                sys.stdout.flush()
            case "err":
                err().print()
            case _:
                return
        self._open_line = ""


def last_line(ended: TurnEnded, seconds: float, session_id: str) -> str:
    """The summary line: stop reason, tokens, cost, duration, session."""
    stopped = "" if ended.stop_reason == "end_turn" else ended.stop_reason
    facts = (stopped, tokens(ended.usage), cost(ended.cost_usd), f"{seconds:.1f} s", f"session {session_id}")
    return " · ".join(fact for fact in facts if fact)


def _arguments(text: str) -> Json:
    """The decoded arguments, or the text itself if it is not JSON."""
    try:
        return msgspec.json.decode(text, type=dict[str, object])
    except msgspec.MsgspecError:
        return text


def _went_wrong(item: Item, part: ToolResultPart) -> bool:
    return item.status == "failed" or part.is_error is True or bool(part.exit_code)


def _outcome(item: Item, part: ToolResultPart) -> str:
    lines = part.output.strip().splitlines()
    code = f"exit {part.exit_code}: " if part.exit_code else ""
    more = f"  (+{len(lines) - 1} lines)" if len(lines) > 1 else ""
    return code + (one_line(lines[0]) if lines else item.error or "done") + more


def _size(diff: str | None) -> str:
    lines = (diff or "").splitlines()
    added = sum(line.startswith("+") and not line.startswith("+++") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("---") for line in lines)
    return f"  +{added} -{removed}" if lines else ""
