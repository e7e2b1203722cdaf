"""`everyagent dev-cluster`: a cluster on this machine, until Ctrl-C."""

import signal
import time
from types import FrameType

from everyagent.cli.exit_codes import CliFailure, ExitCode
from everyagent.cli.output import say
from everyagent.dev_cluster.cluster import DevCluster, dev_cluster
from everyagent.dev_cluster.server import FailedStart, MissingProgram

_LOOK_SECONDS = 0.2


def run() -> int:
    """Start a cluster on this machine, to try it."""
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with dev_cluster(lambda title: say(f"starting {title}")) as cluster:
            print(_introduction(cluster), flush=True)
            _watch(cluster)
    except KeyboardInterrupt:
        say("stopped; its data is deleted")
    except (MissingProgram, ImportError) as error:
        raise CliFailure(
            f"{error} The servers of a cluster are in the extra dev-cluster: pip install 'everyagent[dev-cluster]'.",
            ExitCode.USAGE,
        ) from error
    except FailedStart as error:
        raise CliFailure(str(error)) from error
    return ExitCode.OK


def _watch(cluster: DevCluster) -> None:
    """For ever. Reports parts that ended."""
    alive = {f"node {node.number}": lambda node=node: node.exit_code for node in cluster.nodes}
    alive |= {server.title: lambda server=server: server.exit_code for server in cluster.servers}
    while True:
        for title, exit_code in list(alive.items()):
            if (code := exit_code()) is not None:
                del alive[title]
                say(f"{title} has ended (exit code {code}); the rest goes on")
        time.sleep(_LOOK_SECONDS)


def _introduction(cluster: DevCluster) -> str:
    first, second, *_ = cluster.nodes
    places = [f"  {server.title:11} {server.url}" for server in cluster.servers]
    nodes = [
        f"  {f'node {node.number}':11} {node.url}/ui/#token={cluster.token}  (process {node.pid})"
        for node in cluster.nodes
    ]
    return "\n".join(
        (
            f"A cluster of {len(cluster.nodes)} nodes is running. Open any of them; all show the same sessions.",
            *nodes,
            *places,
            "",
            "Try in another terminal:",
            f"  export EVERYAGENT_TOKEN={cluster.token}",
            f"  everyagent run mock '[text words=20]' --url {first.url}",
            f"  everyagent sessions list --url {second.url}",
            f"  everyagent cluster status --url {second.url}",
            f"  kill -9 {first.pid}    # the other nodes take over its sessions within 15 seconds",
            "",
            "Ctrl-C stops everything and deletes its data.",
        )
    )


def _interrupt(_number: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt
