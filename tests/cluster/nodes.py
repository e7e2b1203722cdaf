"""Real daemons on one real database, for tests."""

import shutil
import signal
from collections.abc import Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from everyagent.client import Client
from everyagent.runtime.ports import free_port
from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.pausing import pause


class NodeProcess(DaemonProcess):
    """`everyagent serve --cluster` on a free port."""

    def __init__(self, folder: Path, store: str, *flags: str) -> None:
        folder.mkdir(mode=0o700)
        super().__init__(
            folder / "data", "--default-agent", "mock", "--isolation", "none", "--store", store, "--cluster", *flags
        )

    def pause(self) -> None:
        assert self._process
        pause(self._process.pid)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def terminate(self) -> None:
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        assert self._process
        self._process.send_signal(number)


@contextmanager
def cluster(folder: Path, store: str, count: int, *flags: str) -> Generator[list[NodeProcess]]:
    """Running nodes. They may be killed and started again."""
    with cluster_of(folder, [(store, *flags)] * count) as nodes:
        yield nodes


@contextmanager
def cluster_of(folder: Path, settings: Sequence[Sequence[str]]) -> Generator[list[NodeProcess]]:
    """Each node has a store and flags of its own."""
    with ExitStack() as at_the_end:
        nodes: list[NodeProcess] = []
        for number, (store, *flags) in enumerate(settings):
            node = NodeProcess(folder / f"node{number}", store, *flags)
            if nodes:
                node.data_dir.mkdir(mode=0o700)
                shutil.copy(nodes[0].data_dir / "vault.key", node.data_dir)
            node.start(port=free_port())  # one that no client takes while the node is down
            at_the_end.callback(end, node)
            nodes.append(node)
        yield nodes


def end(node: NodeProcess) -> None:
    if node.alive:
        node.resume()
        node.kill()


def client(node: NodeProcess) -> Client:
    return Client(node.url, TOKEN)
