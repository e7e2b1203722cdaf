"""Every route of the Managed Agents API."""

from everyagent.api.managed import agents, environments, events, files, resources, sessions, skills, threads, vaults
from everyagent.api.routing import Route

ROUTES: tuple[Route, ...] = tuple(
    route
    for table in (
        agents.routes,
        environments.routes,
        sessions.routes,
        events.routes,
        threads.routes,
        resources.routes,
        files.routes,
        vaults.routes,
        skills.routes,
    )
    for route in table.all
)
