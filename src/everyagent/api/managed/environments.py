"""Environments in which sessions run."""

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.resources.environments.shape import (
    Environment,
    EnvironmentCreate,
    EnvironmentUpdate,
)
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted, ListQuery
from everyagent.managed.workspace.workspace import limits_of

routes = Routes("managed environments")


@routes.add("POST", "/anthropic/v1/environments", Conflict, effect=True)
async def create_environment(call: Call[Nothing, EnvironmentCreate]) -> Environment:
    """Create an environment. Names are unique."""
    environment = await call.managed.environments.create(call.body)
    call.warnings += await limits_of(environment)
    return environment


@routes.add("GET", "/anthropic/v1/environments")
async def list_environments(call: Call[ListQuery, Nothing]) -> Page[Environment]:
    """List environments, newest first."""
    return await call.managed.environments.list(call.query)


@routes.add("GET", "/anthropic/v1/environments/{environment_id}", NotFound)
async def retrieve_environment(call: Call[Nothing, Nothing]) -> Environment:
    """An environment."""
    return await call.managed.environments.retrieve(call.path["environment_id"])


@routes.add("POST", "/anthropic/v1/environments/{environment_id}", NotFound, Conflict, effect=True)
async def update_environment(call: Call[Nothing, EnvironmentUpdate]) -> Environment:
    """Update an environment for new sessions."""
    environment = await call.managed.environments.update(call.path["environment_id"], call.body)
    call.warnings += await limits_of(environment)
    return environment


@routes.add("DELETE", "/anthropic/v1/environments/{environment_id}", NotFound)
async def delete_environment(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete an environment. Its sessions continue."""
    return await call.managed.environments.delete(call.path["environment_id"])


@routes.add("POST", "/anthropic/v1/environments/{environment_id}/archive", NotFound, effect=True)
async def archive_environment(call: Call[Nothing, Nothing]) -> Environment:
    """Archive an environment. It can be read, and takes no new sessions; its name is free again."""
    return await call.managed.environments.archive(call.path["environment_id"])
