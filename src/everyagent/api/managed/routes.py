"""Every route of the Managed Agents API."""

from everyagent.api.managed import agents, environments
from everyagent.api.routing import Route

ROUTES: tuple[Route, ...] = tuple(route for table in (agents.routes, environments.routes) for route in table.all)
