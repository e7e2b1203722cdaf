"""Routes of models: those of all installed agents, in the form of Anthropic's Models API."""

from typing import Annotated

from msgspec import Meta, Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import BadRequest, NotFound
from everyagent.managed.models import AvailableModel, available_models

routes = Routes("managed models")


class ModelsQuery(Struct, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 20
    after_id: str | None = None
    before_id: str | None = None


class ModelsPage(Struct, frozen=True, kw_only=True):
    data: list[AvailableModel]
    has_more: bool
    first_id: str | None
    last_id: str | None


@routes.add("GET", "/anthropic/v1/models")
async def list_models(call: Call[ModelsQuery, Nothing]) -> ModelsPage:
    """List the models of all installed agents. A model's id chooses its agent."""
    query, models = call.query, await available_models(call.sessions.agents)
    if query.before_id is not None:
        models = models[: _position(models, query.before_id, "before_id")]
        found, more = models[-query.limit :], len(models) > query.limit
    else:
        models = models[_position(models, query.after_id, "after_id") + 1 :] if query.after_id else models
        found, more = models[: query.limit], len(models) > query.limit
    ends = (found[0].id, found[-1].id) if found else (None, None)
    return ModelsPage(data=found, has_more=more, first_id=ends[0], last_id=ends[1])


@routes.add("GET", "/anthropic/v1/models/{model_id:path}", NotFound)
async def retrieve_model(call: Call[Nothing, Nothing]) -> AvailableModel:
    """A model."""
    model_id = call.path["model_id"]
    for model in await available_models(call.sessions.agents):
        if model.id == model_id:
            return model
    raise NotFound(f"No installed agent has a model {model_id!r}. GET /v1/models lists them.", model=model_id)


def _position(models: list[AvailableModel], model_id: str, field: str) -> int:
    for position, model in enumerate(models):
        if model.id == model_id:
            return position
    raise BadRequest(f"`{field}` names no model of this list.", field=field)
