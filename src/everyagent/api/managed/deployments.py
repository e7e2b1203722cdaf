"""Routes of deployments and their runs."""

from everyagent.api.routing import Call, Nothing, Routes
from everyagent.errors import NotFound
from everyagent.managed.deployments.shape import (
    Deployment,
    DeploymentCreate,
    DeploymentListQuery,
    DeploymentRun,
    DeploymentUpdate,
    RunListQuery,
)
from everyagent.managed.resources.pages import Page

routes = Routes("managed deployments")


@routes.add("POST", "/anthropic/v1/deployments", NotFound, effect=True)
async def create_deployment(call: Call[Nothing, DeploymentCreate]) -> Deployment:
    """Create a deployment: an agent with everything it needs to run, on a schedule or when asked."""
    deployment = await call.managed.deployments.create(call.body)
    call.managed.scheduler.changed.set()
    return deployment


@routes.add("GET", "/anthropic/v1/deployments")
async def list_deployments(call: Call[DeploymentListQuery, Nothing]) -> Page[Deployment]:
    """List deployments, newest first."""
    return await call.managed.deployments.list(call.query)


@routes.add("GET", "/anthropic/v1/deployments/{deployment_id}", NotFound)
async def retrieve_deployment(call: Call[Nothing, Nothing]) -> Deployment:
    """A deployment, with its next runs."""
    return await call.managed.deployments.retrieve(call.path["deployment_id"])


@routes.add("POST", "/anthropic/v1/deployments/{deployment_id}", NotFound, effect=True)
async def update_deployment(call: Call[Nothing, DeploymentUpdate]) -> Deployment:
    """Change a deployment, for its later runs."""
    deployment = await call.managed.deployments.update(call.path["deployment_id"], call.body)
    call.managed.scheduler.changed.set()
    return deployment


@routes.add("POST", "/anthropic/v1/deployments/{deployment_id}/archive", NotFound, effect=True)
async def archive_deployment(call: Call[Nothing, Nothing]) -> Deployment:
    """Archive a deployment. It can be read, and runs no more."""
    return await call.managed.deployments.archive(call.path["deployment_id"])


@routes.add("POST", "/anthropic/v1/deployments/{deployment_id}/pause", NotFound, effect=True)
async def pause_deployment(call: Call[Nothing, Nothing]) -> Deployment:
    """Pause the schedule of a deployment."""
    return await call.managed.deployments.pause(call.path["deployment_id"])


@routes.add("POST", "/anthropic/v1/deployments/{deployment_id}/unpause", NotFound, effect=True)
async def unpause_deployment(call: Call[Nothing, Nothing]) -> Deployment:
    """Resume the schedule of a deployment, from its next run on."""
    deployment = await call.managed.deployments.unpause(call.path["deployment_id"])
    call.managed.scheduler.changed.set()
    return deployment


@routes.add("POST", "/anthropic/v1/deployments/{deployment_id}/run", NotFound, effect=True, turns=True)
async def run_deployment(call: Call[Nothing, Nothing]) -> DeploymentRun:
    """Run a deployment now. The answer has the session, or why there is none."""
    return await call.managed.runs.run(call.path["deployment_id"])


@routes.add("GET", "/anthropic/v1/deployment_runs")
async def list_deployment_runs(call: Call[RunListQuery, Nothing]) -> Page[DeploymentRun]:
    """List runs of deployments, newest first."""
    return await call.managed.runs.list(call.query)


@routes.add("GET", "/anthropic/v1/deployment_runs/{run_id}", NotFound)
async def retrieve_deployment_run(call: Call[Nothing, Nothing]) -> DeploymentRun:
    """A run of a deployment."""
    return await call.managed.runs.retrieve(call.path["run_id"])
