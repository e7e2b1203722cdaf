"""Routes of the work queue of a self-hosted environment, and of its workers' key."""

from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from everyagent.api.request_decoding import header
from everyagent.api.routing import Call, Encoded, Nothing, Routes
from everyagent.errors import BadRequest, Conflict, NotFound, PreconditionFailed
from everyagent.managed.resources.environments.shape import SelfHosted
from everyagent.managed.resources.pages import Page
from everyagent.managed.work_queue.keys import WorkerKey
from everyagent.managed.work_queue.shape import (
    Heartbeat,
    QueueStats,
    Work,
    WorkBeat,
    WorkListQuery,
    WorkPoll,
    WorkStop,
    WorkUpdate,
)

routes = Routes("managed work")
_KEYS = "/anthropic/v1/environments/{environment_id}/keys"
_WORK = "/anthropic/v1/environments/{environment_id}/work"


class EnvironmentKey(Struct, frozen=True, kw_only=True, tag="environment_key"):
    environment_id: str
    key: str


class WorkerKeyParams(Struct, frozen=True, kw_only=True):
    name: Annotated[str, Meta(min_length=1, max_length=100)]


class NewWorkerKey(Struct, frozen=True, kw_only=True, tag="environment_key"):
    """`key` is shown once."""

    id: str
    environment_id: str
    name: str
    key: str


class WorkerKeyList(Struct, frozen=True, kw_only=True):
    data: list[WorkerKey]


@routes.add("GET", "/anthropic/v1/environments/{environment_id}/key", NotFound, scope="admin")
async def retrieve_environment_key(call: Call[Nothing, Nothing]) -> EnvironmentKey:
    """Get the key of the environment's workers. It opens the work queue, and the environment's sessions:
    their events, skills, and the memory of those with open work."""
    environment = await call.managed.environments.retrieve(call.path["environment_id"])
    if not isinstance(environment.config, SelfHosted):
        raise BadRequest("Only a self-hosted environment has workers, and a key for them.", field="environment_id")
    return EnvironmentKey(environment_id=environment.id, key=await call.managed.keys.of_environment(environment.id))


@routes.add("POST", _KEYS, NotFound, scope="admin")
async def create_environment_key(call: Call[Nothing, WorkerKeyParams]) -> NewWorkerKey:
    """Create a key for a worker of the environment. The response is the only one that has its secret."""
    environment = await call.managed.environments.retrieve_active(call.path["environment_id"])
    if not isinstance(environment.config, SelfHosted):
        raise BadRequest("Only a self-hosted environment has workers, and keys for them.", field="environment_id")
    made, secret = await call.managed.keys.create(environment.id, call.body.name)
    return NewWorkerKey(id=made.id, environment_id=made.environment_id, name=made.name, key=secret)


@routes.add("GET", _KEYS, NotFound, scope="admin")
async def list_environment_keys(call: Call[Nothing, Nothing]) -> WorkerKeyList:
    """List the keys of the environment's workers, without their secrets."""
    environment = await call.managed.environments.retrieve(call.path["environment_id"])
    return WorkerKeyList(data=await call.managed.keys.list(environment.id))


@routes.add("DELETE", f"{_KEYS}/{{key_id}}", NotFound, scope="admin")
async def revoke_environment_key(call: Call[Nothing, Nothing]) -> WorkerKey:
    """Revoke a key of the environment's workers. It is refused from now on."""
    environment = await call.managed.environments.retrieve(call.path["environment_id"])
    return await call.managed.keys.revoke(environment.id, call.path["key_id"])


@routes.add("GET", f"{_WORK}/poll", NotFound, scope="run")
async def poll_work(call: Call[WorkPoll, Nothing]) -> Encoded[Work | None]:
    """Claim the next piece of work, with its secret; null if there is none."""
    worker = header(call.scope, b"anthropic-worker-id")
    work = await call.managed.queue.poll(call.path["environment_id"], call.query, worker)
    return Encoded(msgspec.json.encode(work))


@routes.add("GET", f"{_WORK}/stats", NotFound)
async def show_work_stats(call: Call[Nothing, Nothing]) -> QueueStats:
    """The length of the queue, the number of workers that poll it, and how often they failed."""
    return await call.managed.queue.stats(call.path["environment_id"])


@routes.add("GET", _WORK, NotFound)
async def list_work(call: Call[WorkListQuery, Nothing]) -> Page[Work]:
    """List open and stopped work, newest first."""
    return await call.managed.queue.list(call.path["environment_id"], call.query)


@routes.add("GET", f"{_WORK}/{{work_id}}", NotFound)
async def retrieve_work(call: Call[Nothing, Nothing]) -> Work:
    """A piece of work."""
    return await call.managed.queue.retrieve(call.path["environment_id"], call.path["work_id"])


@routes.add("POST", f"{_WORK}/{{work_id}}", NotFound, effect=True)
async def update_work(call: Call[Nothing, WorkUpdate]) -> Work:
    """Update the metadata, key by key."""
    return await call.managed.queue.update(call.path["environment_id"], call.path["work_id"], call.body.metadata)


@routes.add("POST", f"{_WORK}/{{work_id}}/ack", NotFound, Conflict)
async def acknowledge_work(call: Call[Nothing, Nothing]) -> Work:
    """Acknowledge claimed work."""
    return await call.managed.queue.ack(call.path["environment_id"], call.path["work_id"])


@routes.add("POST", f"{_WORK}/{{work_id}}/heartbeat", NotFound, PreconditionFailed)
async def extend_lease(call: Call[WorkBeat, Nothing]) -> Heartbeat:
    """Extend the lease of work."""
    return await call.managed.queue.heartbeat(call.path["environment_id"], call.path["work_id"], call.query)


@routes.add("POST", f"{_WORK}/{{work_id}}/stop", NotFound, Conflict)
async def stop_work(call: Call[Nothing, WorkStop]) -> Work:
    """Stop work. If its session is not done, new work is queued."""
    return await call.managed.queue.stop(call.path["environment_id"], call.path["work_id"], force=call.body.force)
