"""The choices that an agent offers for one session: modes, models, levels of thinking. Pure.

Agents list them as `modes` and `models`, as options of the session, or as both.
"""

from typing import NamedTuple

from everyagent.agents.acp import wire

LEVEL = "thought_level"


class SetRequest(NamedTuple):
    """A request that changes a setting of the session; `sessionId` is still missing."""

    method: str
    params: dict[str, object]
    category: str
    value: str


class Offers:
    def __init__(self, opened: wire.SessionOpened) -> None:
        self._modes = opened.modes or wire.AcpModes()
        self._models = opened.models or wire.AcpModels()
        self._options = {option.category: option for option in opened.config_options or [] if option.category}

    @property
    def modes(self) -> list[wire.AcpMode]:
        if self._modes.available_modes:
            return self._modes.available_modes
        return [wire.AcpMode(each.value, each.name, each.description) for each in self._values("mode")]

    @property
    def mode(self) -> str | None:
        return self._modes.current_mode_id or self._current("mode")

    @property
    def models(self) -> list[wire.AcpModel]:
        if self._models.available_models:
            return self._models.available_models
        return [wire.AcpModel(each.value, each.name or None) for each in self._values("model")]

    @property
    def model(self) -> str | None:
        return self._models.current_model_id or self._current("model")

    @property
    def level(self) -> str | None:
        return self._current(LEVEL)

    @property
    def levels(self) -> list[str]:
        return [each.value for each in self._values(LEVEL)]

    def set_mode(self, mode: str) -> SetRequest | None:
        """None if the agent does not have this mode."""
        if mode not in [each.id for each in self.modes]:
            return None
        if self._modes.available_modes:
            return SetRequest("session/set_mode", {"modeId": mode}, "mode", mode)
        return self._set("mode", mode)

    def set_model(self, model: str) -> SetRequest | None:
        """None if the agent does not list this model. Names are accepted beside ids."""
        known = next((each.model_id for each in self.models if model in (each.model_id, each.name)), None)
        if known is None:
            return None
        if "model" in self._options:
            return self._set("model", known)
        return SetRequest("session/set_model", {"modelId": known}, "model", known)

    def set_level(self, level: str) -> SetRequest | None:
        return self._set(LEVEL, level) if level in self.levels else None

    def _set(self, category: str, value: str) -> SetRequest:
        params: dict[str, object] = {"configId": self._options[category].id, "value": value}
        return SetRequest("session/set_config_option", params, category, value)

    def _current(self, category: str) -> str | None:
        value = self._options[category].current_value if category in self._options else None
        return value if isinstance(value, str) else None

    def _values(self, category: str) -> list[wire.OptionValue]:
        option = self._options.get(category)
        values = option.options if option else []
        return [value for each in values for value in (each.options or [each])]
