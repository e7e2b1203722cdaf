"""Real daemons on one real database, for tests."""

import shutil
import signal
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from pathlib import Path

from everyagent.client import Client
from everyagent.clock import Clock
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.lazy_managed import LazyManaged
from everyagent.managed import Managed
from everyagent.runtime.ports import free_port
from everyagent.sessions.limits import Limits
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


@asynccontextmanager
async def node_here(
    folder: Path, store: str, *, clock: Clock | None = None, max_agents: int = 0
) -> AsyncGenerator[Managed]:
    """A node in the process of the test, without a server. Its clock is that of its machine."""
    settings = Settings(data_dir=folder, default_agent="mock", store=store, vault_key="00" * 32)
    lazy, policy = LazyManaged(), Limits(sweep_every=0.02, max_agents=max_agents)
    url = f"http://{folder.name}:1"
    async with sessions_of(settings, limits=policy, clock=clock, managed=lazy, node_url=url):
        yield lazy.managed


def client(node: NodeProcess) -> Client:
    return Client(node.url, TOKEN)
