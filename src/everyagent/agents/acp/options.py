"""The settings of a session that its agent reports: model, level of thinking, and options of its own. Pure."""

from collections.abc import Sequence

from everyagent.agents.acp import wire
from everyagent.agents.acp.notices import AcpNotices
from everyagent.agents.acp.offers import LEVEL, Offers
from everyagent.agents.adapter import Draft
from everyagent.model.events import SessionUpdated

_SETTINGS = frozenset({"model", LEVEL})


class AcpOptions:
    """`current` are the model and the level, as the agent last had them, or as it was last asked to have them."""

    def __init__(self, notices: AcpNotices) -> None:
        self.current: dict[str, str] = {}
        self._notices = notices

    def begun(self, opened: wire.SessionOpened) -> None:
        """What the session begins with is no change."""
        offers = Offers(opened)
        self.current = {name: value for name, value in (("model", offers.model), (LEVEL, offers.level)) if value}
        self._notices.options(_own(opened.config_options or []))

    def changed(self, options: Sequence[wire.ConfigOption]) -> Sequence[Draft]:
        drafts: list[Draft] = []
        for option in options:
            if option.category in _SETTINGS and isinstance(option.current_value, str) and option.current_value:
                drafts += self._set(option.category, option.current_value)
        return [*drafts, *self._notices.options(_own(options))]

    def _set(self, category: str, value: str) -> Sequence[Draft]:
        before, self.current[category] = self.current.get(category), value
        if before in (None, value):
            return ()
        return (SessionUpdated(model=value) if category == "model" else SessionUpdated(variant=value),)


def _own(options: Sequence[wire.ConfigOption]) -> list[wire.ConfigOption]:
    return [each for each in options if each.category != "mode" and each.category not in _SETTINGS]
