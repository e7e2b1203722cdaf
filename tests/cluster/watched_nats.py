"""A NATS server that tells what its clients subscribe to."""

from pathlib import Path

import httpx2

from everyagent.dev_cluster.nats import NatsServer
from everyagent.runtime.ports import free_port


class WatchedNats(NatsServer):
    def __init__(self, folder: Path) -> None:
        self._monitor = free_port()
        super().__init__(folder, "--http_port", str(self._monitor))

    def subscriptions(self) -> list[str]:
        """The subjects of all connections, each as often as it was subscribed to."""
        found = httpx2.get(f"http://127.0.0.1:{self._monitor}/connz?subs=1").json()
        return [subject for each in found["connections"] for subject in each.get("subscriptions_list", ())]
