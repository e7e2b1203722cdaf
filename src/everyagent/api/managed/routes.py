"""Every route of the Managed Agents API."""

from everyagent.api.managed import (
    about,
    agents,
    deployments,
    environments,
    events,
    files,
    memory_stores,
    models,
    resources,
    sessions,
    skills,
    threads,
    vaults,
    work,
)
from everyagent.api.routing import Route

ROUTES: tuple[Route, ...] = tuple(
    route
    for table in (
        agents.routes,
        environments.routes,
        deployments.routes,
        work.routes,
        sessions.routes,
        events.routes,
        threads.routes,
        resources.routes,
        files.routes,
        vaults.routes,
        skills.routes,
        memory_stores.routes,
        models.routes,
        about.routes,
    )
    for route in table.all
)
