"""Nodes that announce commits over NATS, which may die, hang or lose messages."""

import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from everyagent.client import Client
from everyagent.config import ConfigError, load
from everyagent.dev_cluster.nats import NatsServer
from everyagent.errors import BusUnavailable
from everyagent.log.nats_bus import check
from everyagent.testing.daemon import TOKEN
from tests.cluster.nodes import NodeProcess, client, cluster
from tests.cluster.watched_nats import WatchedNats
from tests.pausing import pause
from tests.postgres.server import PostgresServer
from tests.waiting import LIMIT_SECONDS, wait_until


@pytest.fixture(scope="module")
def nodes(
    postgres: PostgresServer, nats: WatchedNats, tmp_path_factory: pytest.TempPathFactory
) -> Generator[list[NodeProcess]]:
    with cluster(tmp_path_factory.mktemp("cluster"), postgres.new_schema(), 2, *nats.flags) as nodes:
        yield nodes


@pytest.fixture
def first(nodes: list[NodeProcess]) -> Generator[Client]:
    with client(nodes[0]) as made:
        yield made


@pytest.fixture
def second(nodes: list[NodeProcess]) -> Generator[Client]:
    with client(nodes[1]) as made:
        yield made


class Reader:
    """A reader of a session, which checks that nothing is missing or repeated."""

    def __init__(self, reading: Client, session_id: str) -> None:
        self._events = reading.events(session_id)
        self._seen = 0

    def turn(self) -> int:
        """Reads to the end of the next turn. Returns the last sequence."""
        for event in self._events:
            self._seen += 1
            assert event.sequence == self._seen
            if event.type == "turn.ended":
                return self._seen
        raise AssertionError("the stream ended")


def followed(nats: WatchedNats) -> list[str]:
    return [subject for subject in nats.subscriptions() if ".events." in subject]


def connected(*nodes: Client) -> bool:
    return all((bus := node.cluster().bus) is not None and bus.connected for node in nodes)


def gaps(node: Client) -> int:
    bus = node.cluster().bus
    assert bus is not None
    return bus.gaps


def test_events_reach_readers_on_other_nodes_without_the_database(
    nats: WatchedNats, first: Client, second: Client, tmp_path: Path
):
    first.create("carried", agent="mock", directory=str(tmp_path))
    readers = [Reader(second, "carried") for _ in range(3)]

    def carried() -> bool:
        """Whether a whole turn came over NATS. A look at the heads may find some events before NATS brings them."""
        before = gaps(second)
        first.run_turn("carried", "[text words=20]")
        assert len({reader.turn() for reader in readers}) == 1
        return gaps(second) == before

    carried()
    wait_until(lambda: followed(nats))
    wait_until(carried)
    assert len(followed(nats)) == 1
    assert 'everyagent_bus_connected{bus="nats"} 1' in second.metrics()


@pytest.mark.parametrize("kind", ["kill", "pause"])
def test_readers_miss_nothing_while_nats_is_away(
    kind: str, nats: WatchedNats, first: Client, second: Client, tmp_path: Path
):
    wait_until(lambda: connected(first, second))
    session_id = f"away-{kind}"
    first.create(session_id, agent="mock", directory=str(tmp_path))
    reader = Reader(second, session_id)
    first.run_turn(session_id, "[text words=5]")
    reader.turn()
    assert nats.process is not None
    if kind == "kill":
        nats.process.kill()
    else:
        pause(nats.process.pid)
    second.run_turn(session_id, "[text words=5]")
    reader.turn()
    wait_until(lambda: not connected(first) and not connected(second))
    first.run_turn(session_id, "[text words=5]")
    reader.turn()
    if kind == "kill":
        nats.process.wait()
        nats.start()
    else:
        nats.process.send_signal(signal.SIGCONT)
    wait_until(lambda: connected(first, second))
    first.run_turn(session_id, "[text words=5]")
    reader.turn()


def test_a_bus_that_cannot_be_used_ends_the_start_with_a_message(postgres: PostgresServer, tmp_path: Path):
    guarded = NatsServer(tmp_path, "--user", "someone", "--pass", "else")
    guarded.start()
    words = ["serve", "--port", "0", "--token", TOKEN, "--data-dir", str(tmp_path / "data"), "--cluster"]
    words += ["--store", postgres.url, "--bus", f"nats://me:secret@127.0.0.1:{guarded.port}"]
    done = subprocess.run(
        [sys.executable, "-m", "everyagent", *words], capture_output=True, text=True, timeout=LIMIT_SECONDS
    )
    guarded.stop()
    assert done.returncode == 2
    assert "--bus" in done.stderr
    assert "authorization" in done.stderr.lower()
    assert "Traceback" not in done.stderr
    assert "secret" not in done.stderr


async def test_unreachable_and_wrong_servers_are_named_without_their_password(postgres: PostgresServer):
    for port in (1, postgres.port):
        with pytest.raises(BusUnavailable) as refused:
            await check(f"nats://me:secret@127.0.0.1:{port}")
        assert f"nats://127.0.0.1:{port}" in refused.value.detail
        assert "secret" not in refused.value.detail


@pytest.mark.parametrize("flags", [{"bus": "http://x", "cluster": True}, {"bus": "nats://x"}])
def test_a_wrong_bus_is_an_invalid_setting(flags: dict[str, object]):
    with pytest.raises(ConfigError, match=r"--bus|--cluster"):
        load({"store": "postgresql://x/y", "token": "a", **flags}, {})
