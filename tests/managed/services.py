"""The services of the Managed Agents API over real storage, without a server."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from everyagent.clock import Clock, SystemClock
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.managed import Managed
from everyagent.managed.resources.agents.shape import AgentCreate, McpServer, SessionAgent, SkillParams
from everyagent.managed.resources.agents.tools import McpToolset
from everyagent.managed.resources.environments.shape import CloudParams, Environment, EnvironmentCreate, PackagesParams
from everyagent.sessions.limits import Limits


@asynccontextmanager
async def managed(
    folder: Path, *, limits: Limits | None = None, clock: Clock | None = None, store: str | None = None
) -> AsyncGenerator[Managed]:
    settings = Settings(data_dir=folder / "data", default_agent="mock", store=store)
    lazy = LazyManaged()
    async with sessions_of(settings, limits=limits or Limits(), clock=clock or SystemClock(), managed=lazy):
        yield lazy.managed


async def agent(on: Managed, *, mcp: str | None = None, skills: Sequence[SkillParams] = ()) -> SessionAgent:
    servers = [McpServer(name="docs", url=mcp)] if mcp else []
    made = await on.agents.create(
        AgentCreate(
            name="a",
            model="mock-model",
            mcp_servers=servers,
            tools=[McpToolset(mcp_server_name=server.name) for server in servers],
            skills=[*skills],
        )
    )
    return await on.agents.for_session(made.id)


async def environment(on: Managed, packages: PackagesParams | None = None) -> Environment:
    config = CloudParams(packages=packages)
    return await on.environments.create(EnvironmentCreate(name="e", config=config))
