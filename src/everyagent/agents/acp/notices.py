"""Decodes updates about the session itself: plans, commands, context size. Pure; used by `decode.py`."""

from collections.abc import Sequence

from msgspec import Raw

from everyagent.agents import items
from everyagent.agents.acp import wire
from everyagent.agents.adapter import Draft
from everyagent.agents.unknown_items import unknown_item, value_at
from everyagent.model.parts import StatusPart

#: So many commands are listed; an agent may have thousands.
COMMANDS = 500
#: Of a vendor's own message, so much is shown; its frame has the rest.
VENDOR_CHARS = 4096


class AcpNotices:
    """Makes status items. An item with the text of the last one of its name is left out."""

    def __init__(self) -> None:
        self._count = 0
        self._last: dict[str, list[StatusPart]] = {}

    def plan(self, plan: wire.AcpPlan) -> Sequence[Draft]:
        return self._status("plan", [StatusPart(label=each.content, detail=each.status) for each in plan.entries])

    def commands(self, commands: wire.Commands) -> Sequence[Draft]:
        listed = commands.available_commands[:COMMANDS]
        return self._status("commands", [StatusPart(label=f"/{each.name}", detail=each.description) for each in listed])

    def context(self, usage: wire.ContextUsage) -> Sequence[Draft]:
        return self._status("context", [StatusPart(label="Context", detail=f"{usage.used} of {usage.size} tokens")])

    def options(self, options: Sequence[wire.ConfigOption]) -> Sequence[Draft]:
        """Settings that are the agent's own."""
        if not options and "options" not in self._last:
            return ()
        listed = [(each.name or each.id, each.current_value) for each in options[:COMMANDS]]
        return self._status("options", [StatusPart(label=label, detail=_word(value)) for label, value in listed])

    def vendor(self, method: str, params: Raw) -> Sequence[Draft]:
        """A message that only this agent has."""
        detail = bytes(params).decode()[:VENDOR_CHARS]
        return self._status("vendor", [StatusPart(label=method, detail=detail)])

    def sentence(self, text: str) -> Sequence[Draft]:
        self._last.pop("notice", None)
        return self._status("notice", [StatusPart(label="Notice", detail=text)])

    def unknown(self, type: str, update: Raw) -> Sequence[Draft]:
        """An update of a type that the adapter does not know."""
        self._count += 1
        return items.whole(
            unknown_item(f"{type} {self._count}", type, value_at(bytes(update)), native=None, subagent=None)
        )

    def _status(self, name: str, parts: list[StatusPart]) -> Sequence[Draft]:
        if self._last.get(name) == parts:
            return ()
        self._last[name] = parts
        self._count += 1
        return items.whole(items.status(f"{name} {self._count}", name, parts))


def _word(value: str | bool | None) -> str | None:
    return value if isinstance(value, str) or value is None else "on" if value else "off"
