"""Routes of agents and their versions."""

from msgspec import Struct

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import Conflict, NotFound
from everyagent.managed.field_limits import PageLimit
from everyagent.managed.resources.agents.shape import Agent, AgentCreate, AgentUpdate
from everyagent.managed.resources.agents.unsupported import limits_of_agent
from everyagent.managed.resources.pages import Page
from everyagent.managed.resources.record_store import DatedListQuery

routes = Routes("managed agents")


class VersionQuery(Struct, frozen=True, kw_only=True):
    version: int | None = None


class AgentVersionsQuery(Struct, frozen=True, kw_only=True):
    limit: PageLimit = 20
    page: str | None = None


@routes.add("POST", "/anthropic/v1/agents", effect=True)
async def create_managed_agent(call: Call[Nothing, AgentCreate]) -> Agent:
    """Create an agent, with version 1."""
    agent = await call.managed.agents.create(call.body)
    call.warnings += limits_of_agent(agent)
    return agent


@routes.add("GET", "/anthropic/v1/agents")
async def list_managed_agents(call: Call[DatedListQuery, Nothing]) -> Page[Agent]:
    """List agents, newest first."""
    return await call.managed.agents.list(call.query)


@routes.add("GET", "/anthropic/v1/agents/{agent_id}", NotFound)
async def retrieve_managed_agent(call: Call[VersionQuery, Nothing]) -> Agent:
    """The newest or a given version of an agent."""
    return await call.managed.agents.retrieve(call.path["agent_id"], call.query.version)


@routes.add("POST", "/anthropic/v1/agents/{agent_id}", NotFound, Conflict, effect=True)
async def update_managed_agent(call: Call[Nothing, AgentUpdate]) -> Agent:
    """Create a new version. With `version`, fails unless that is the newest."""
    agent = await call.managed.agents.update(call.path["agent_id"], call.body)
    call.warnings += limits_of_agent(agent)
    return agent


@routes.add("POST", "/anthropic/v1/agents/{agent_id}/archive", NotFound, effect=True)
async def archive_managed_agent(call: Call[Nothing, Nothing]) -> Agent:
    """Archive an agent. It can be read, and takes no new sessions."""
    return await call.managed.agents.archive(call.path["agent_id"])


@routes.add("GET", "/anthropic/v1/agents/{agent_id}/versions", NotFound)
async def list_managed_agent_versions(call: Call[AgentVersionsQuery, Nothing]) -> Page[Agent]:
    """List the versions of an agent, newest first."""
    return await call.managed.agents.versions(call.path["agent_id"], limit=call.query.limit, page=call.query.page)
