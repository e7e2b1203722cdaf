"""Routes of session resources: files, repositories and memory stores."""

from msgspec import Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.field_limits import LongPageLimit
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import Deleted
from everyagent.managed.workspace.shape import FileParams, Resource, ResourceUpdate

routes = Routes("managed sessions")
_RESOURCES = "/anthropic/v1/sessions/{session_id}/resources"
_RESOURCE = _RESOURCES + "/{resource_id}"


class ResourcesQuery(Struct, frozen=True, kw_only=True):
    limit: LongPageLimit = 1000
    page: str | None = None


@routes.add("POST", _RESOURCES, NotFound, Conflict, effect=True)
async def add_session_resource(call: Call[Nothing, FileParams]) -> Resource:
    """Add a file to a session, also while it runs."""
    return await call.managed.give_file(call.path["session_id"], call.body)


@routes.add("GET", _RESOURCES, NotFound)
async def list_session_resources(call: Call[ResourcesQuery, Nothing]) -> Page[Resource]:
    """List a session's resources, oldest first."""
    await call.sessions.projected.find(call.path["session_id"])
    query = call.query
    return await call.managed.resources.list(call.path["session_id"], limit=query.limit, page=query.page)


@routes.add("GET", _RESOURCE, NotFound)
async def retrieve_session_resource(call: Call[Nothing, Nothing]) -> Resource:
    """One of them."""
    return await call.managed.resources.retrieve(call.path["session_id"], call.path["resource_id"])


@routes.add("POST", _RESOURCE, NotFound, effect=True)
async def update_session_resource(call: Call[Nothing, ResourceUpdate]) -> Resource:
    """Change the token of a repository. A failed clone is tried again."""
    token = call.body.authorization_token
    return await call.managed.change_token(call.path["session_id"], call.path["resource_id"], token)


@routes.add("DELETE", _RESOURCE, NotFound)
async def delete_session_resource(call: Call[Nothing, Nothing]) -> Deleted:
    """Delete a resource, and remove it from the session's folder."""
    return await call.managed.take_back(call.path["session_id"], call.path["resource_id"])
