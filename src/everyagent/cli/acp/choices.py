"""The settings of a session that an editor can change: permission mode, agent mode, model, variant. Pure."""

from collections.abc import Sequence
from typing import TypedDict

from msgspec import UNSET, Struct, UnsetType

from everyagent.client import AsyncClient
from everyagent.model.agents import Model
from everyagent.model.responses import ModeList, ModelList
from everyagent.model.sessions import SessionInfo

#: Stands for the agent's own choice of a model.
AGENTS_OWN = "default"


class Changes(TypedDict, total=False):
    """Arguments of the client's `update`."""

    permission_mode: str
    agent_mode: str
    model: str | None
    variant: str | None


class Choices(Struct, frozen=True):
    """The models and modes that the session's agent offers."""

    modes: ModeList
    models: ModelList

    def shown(self, info: SessionInfo) -> dict[str, object]:
        """The settings in the result of `session/new` and its likes."""
        return {"modes": self.mode_state(info), "configOptions": self.options(info)}

    def mode_state(self, info: SessionInfo) -> dict[str, object]:
        listed = [
            {"id": each.id, "name": each.name, "description": each.description} for each in self.modes.permission_modes
        ]
        return {"currentModeId": info.permission_mode, "availableModes": listed}

    def options(self, info: SessionInfo) -> list[dict[str, object]]:
        modes = [(each.id, each.name) for each in self.modes.permission_modes]
        options = [_select("mode", "Permission mode", info.permission_mode, modes, category="mode")]
        if len(self.modes.modes) > 1:
            own = [(each.id, each.name) for each in self.modes.modes]
            options.append(_select("agent_mode", "Agent mode", info.agent_mode, own))
        models = [(each.id, each.name or each.id) for each in self.models.models]
        if models or info.model:
            listed = models if self.models.default_model else [(AGENTS_OWN, "The agent's default"), *models]
            current = info.model or self.models.default_model or AGENTS_OWN
            options.append(_select("model", "Model", current, listed, category="model"))
        model = self._model(info)
        if model and model.variants:
            current = info.variant or model.default_variant or AGENTS_OWN
            variants = [(each, each) for each in model.variants]
            options.append(_select("variant", "Reasoning effort", current, variants, category="thought_level"))
        return options

    def _model(self, info: SessionInfo) -> Model | None:
        current = info.model or self.models.default_model
        return next((each for each in self.models.models if each.id == current), None)


async def choices_of(client: AsyncClient, agent: str) -> Choices:
    return Choices(await client.modes(agent), await client.models(agent))


def change(option: str, value: str) -> Changes | None:
    """The change of a session for a value of an option; None if there is no such option."""
    own: str | None = None if value == AGENTS_OWN else value
    match option:
        case "mode":
            return {"permission_mode": value}
        case "agent_mode":
            return {"agent_mode": value}
        case "model":
            return {"model": own}
        case "variant":
            return {"variant": own}
        case _:
            return None


def _select(
    id: str, name: str, current: str, values: Sequence[tuple[str, str]], *, category: str | UnsetType = UNSET
) -> dict[str, object]:
    """The current value is always among the listed ones."""
    if current not in [value for value, _ in values]:
        values = [(current, current), *values]
    options = [{"value": value, "name": title} for value, title in values]
    listed: dict[str, object] = {"id": id, "name": name, "type": "select", "currentValue": current, "options": options}
    return listed if isinstance(category, UnsetType) else {**listed, "category": category}
