"""Webhooks of two nodes on one database: one delivers, the other takes over, and both serve the links."""

import hashlib
from pathlib import Path

from everyagent.client import Client
from tests.cluster.nodes import NodeProcess, client, cluster
from tests.waiting import wait_until
from tests.webhooks.receiver import Receiver
from tests.webhooks.sending_daemon import open_link


def delivering(webhook: str, nodes: list[NodeProcess], asked: Client) -> NodeProcess:
    """The node that delivers: the one with the highest hash."""
    by_url = {node.url: node for node in nodes}
    living = {each.node_id: by_url[each.url] for each in asked.cluster().nodes}
    chosen = max(living, key=lambda node_id: hashlib.sha256(f"{webhook} {node_id}".encode()).digest())
    return living[chosen]


def ended(receiver: Receiver, session: str) -> set[str]:
    """The ids of the messages that a turn of the session has ended. A change of the delivering node may repeat one."""
    found = [each for each in list(receiver.received) if each.data["id"] == session]
    return {each.id for each in found if each.data["type"] == "turn.ended"}


def test_one_node_delivers_and_another_takes_over(postgres_url: str, receiver: Receiver, folder: Path) -> None:
    with (
        cluster(folder, postgres_url, 2, "--webhook-networks", "127.0.0.0/8") as nodes,
        client(nodes[0]) as first,
        client(nodes[1]) as second,
    ):
        wait_until(lambda: len(first.cluster().nodes) == len(second.cluster().nodes) == 2)
        made = first.create_webhook(receiver.url(), answer_links=True, events=["turn.ended", "permission.requested"])
        webhook = made.webhook.webhook_id
        for number, each in enumerate((first, second)):
            each.create(f"of-{number}", agent="mock", directory=str(folder))
            each.run_turn(f"of-{number}", "[hello]")
        wait_until(lambda: {str(each.data["id"]) for each in list(receiver.received)} == {"of-0", "of-1"})
        first.send("of-0", "[ask]")
        asked = wait_until(lambda: [each for each in list(receiver.received) if "answer_url" in each.data])[0]
        path = str(asked.data["answer_url"]).partition("/answer/")[2]
        assert open_link(f"{nodes[1].url}/answer/{path}", {"reply": "once"}).status_code == 200
        wait_until(lambda: len(ended(receiver, "of-0")) == 2, lambda: receiver.types())
        killed = delivering(webhook, nodes, first)
        alive = second if killed is nodes[0] else first
        killed.kill()
        session = "of-1" if killed is nodes[0] else "of-0"
        before = ended(receiver, session)
        alive.run_turn(session, "[hello]")
        wait_until(lambda: len(ended(receiver, session)) == len(before) + 1, lambda: alive.webhook(webhook))
        for received in receiver.received:
            received.verify(made.secret)
