"""Routes about the daemon: health, metrics, OpenAPI and JSON Schema documents."""

from collections.abc import Iterable

from msgspec import Struct

from everyagent.api.metrics import Sample
from everyagent.api.response import Response
from everyagent.api.routing import Call, Encoded, Nothing, Routes
from everyagent.errors import Unavailable
from everyagent.model.principals import current
from everyagent.model.responses import ClusterStatus, Health, NodeStatus
from everyagent.sessions.measures import Measures, measured

routes = Routes("daemon")


class JsonDocument(Struct, frozen=True):
    """A JSON document."""


@routes.add("GET", "/v1/health", public=True)
async def health(call: Call[Nothing, Nothing]) -> Health:
    """Check that the daemon is up."""
    return Health(status="ok", version=call.context.settings.version, storage=call.sessions.storage)


@routes.add("GET", "/v1/ready", Unavailable, public=True)
async def ready(call: Call[Nothing, Nothing]) -> Health:
    """Check that the daemon accepts commands: not while it shuts down, or, in a cluster, is cut off from the store."""
    if call.sessions.storage.condition == "lost":
        raise Unavailable("The daemon's database was deleted while it runs. Restore it, and start the daemon again.")
    if not call.sessions.ready:
        raise Unavailable("The daemon does not accept commands now: it shuts down, or cannot reach its store.")
    return await health(call)


@routes.add("GET", "/v1/cluster", scope="admin")
async def get_cluster(call: Call[Nothing, Nothing]) -> ClusterStatus:
    """List the nodes that share the store. A daemon that is alone has none."""
    node = call.context.node
    return ClusterStatus(
        node_id=node.node_id if node else None,
        nodes=[
            NodeStatus(
                node_id=each.node_id,
                name=each.name,
                url=each.url,
                version=each.version,
                started_at=each.started_at // 1000,
                lease_seconds=round(each.lease_seconds, 3),
                live_sessions=each.live_sessions,
                lag=each.lag,
            )
            for each in (node.nodes if node else ())
        ],
        bus=node.bus() if node else None,
    )


@routes.add("GET", "/healthz", public=True)
async def healthz(call: Call[Nothing, Nothing]) -> Health:
    """Check that the daemon is up, under the name that load balancers and other clients ask for."""
    return await health(call)


@routes.add("GET", "/metrics", media=("text/plain",))
async def metrics(call: Call[Nothing, Nothing]) -> Response:
    """Get the metrics in Prometheus text format. A key sees those of its workspace."""
    whole = current().workspace is None
    measures = _samples(await measured(call.sessions))
    return Response(
        call.context.metrics.exposition(measures, whole=whole), media_type="text/plain; version=0.0.4; charset=utf-8"
    )


def _samples(measures: Measures) -> Iterable[Sample]:
    yield Sample("everyagent_open_asks", "gauge", "Asks that wait for an answer.", measures.open_asks)
    if measures.database_bytes is not None:
        yield Sample("everyagent_database_bytes", "gauge", "Size of the database.", measures.database_bytes)
    if measures.agents_memory is not None and measures.agents_processes is not None:
        memory = "Resident memory of agents and everything that they started."
        yield Sample("everyagent_agents_memory_bytes", "gauge", memory, measures.agents_memory)
        processes = "Processes of agents and everything that they started."
        yield Sample("everyagent_agents_processes", "gauge", processes, measures.agents_processes)


@routes.add("GET", "/openapi.json", scope=None)
async def openapi(call: Call[Nothing, Nothing]) -> Encoded[JsonDocument]:
    """Get this OpenAPI document."""
    return Encoded(call.context.openapi())


@routes.add("GET", "/v1/schema.json", scope=None)
async def schema(call: Call[Nothing, Nothing]) -> Encoded[JsonDocument]:
    """Get the JSON Schema of events."""
    return Encoded(call.context.schema())
