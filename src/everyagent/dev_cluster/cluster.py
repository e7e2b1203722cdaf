"""The servers and nodes of a cluster on one machine, from start to end."""

import secrets
import shutil
import tempfile
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from everyagent.dev_cluster.nats import NatsServer
from everyagent.dev_cluster.node import DevNode
from everyagent.dev_cluster.postgres import PostgresServer
from everyagent.dev_cluster.s3 import S3Server
from everyagent.dev_cluster.server import Server

NODES = 3
#: In the order of their start.
SERVERS: tuple[Callable[[Path], Server], ...] = (PostgresServer, NatsServer, S3Server)


class DevCluster:
    def __init__(self, servers: list[Server], nodes: list[DevNode], token: str) -> None:
        self.servers = servers
        self.nodes = nodes
        self.token = token


@contextmanager
def dev_cluster(starting: Callable[[str], None]) -> Generator[DevCluster]:
    """Runs it in a temporary folder, which is deleted at the end. `starting` is called with the title of each part.

    Raises `MissingProgram` or `FailedStart`.
    """
    with ExitStack() as at_the_end:
        # PostgreSQL refuses to run as root, and another user must be able to enter the folder.
        folder = Path(tempfile.mkdtemp(prefix="everyagent-dev-cluster-"))
        at_the_end.callback(shutil.rmtree, folder, ignore_errors=True)
        folder.chmod(0o711)
        servers: list[Server] = []
        for make in SERVERS:
            place = folder / f"server{len(servers) + 1}"
            place.mkdir()
            server = make(place)
            starting(server.title)
            at_the_end.callback(server.stop)
            server.start()
            servers.append(server)
        yield DevCluster(servers, *_nodes(folder, servers, starting, at_the_end))


def _nodes(
    folder: Path, servers: list[Server], starting: Callable[[str], None], at_the_end: ExitStack
) -> tuple[list[DevNode], str]:
    token, nodes = secrets.token_hex(16), list[DevNode]()
    flags = [flag for server in servers for flag in server.flags]
    environment = dict(pair for server in servers for pair in server.environment.items())
    environment["EVERYAGENT_TOKEN"] = token
    at_the_end.callback(_end, nodes)
    for number in range(1, NODES + 1):
        starting(f"node {number}")
        node = DevNode(number, folder / f"node{number}", flags, environment)
        if nodes:
            shutil.copy(nodes[0].data_dir / "vault.key", node.data_dir)
        nodes.append(node)
        node.start()
    return nodes, token


def _end(nodes: list[DevNode]) -> None:
    for node in nodes:
        node.terminate()
    for node in nodes:
        node.wait()
