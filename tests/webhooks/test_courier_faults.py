"""An exception of the task that delivers to one endpoint does not end the daemon."""

from pathlib import Path

import pytest

from everyagent.webhooks.sender import WebhookSender
from tests.agents.faults import faulty_daemon, inject, until

pytestmark = pytest.mark.anyio


async def test_an_endpoint_whose_connection_does_not_close_ends_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with faulty_daemon(tmp_path) as daemon:
        neighbour = await daemon.neighbour()
        made = await daemon.client.post("/v1/webhooks", json={"url": "https://1.1.1.1/messages"})
        assert made.is_success, made.text
        fault = inject(monkeypatch, WebhookSender, "close")
        removed = await daemon.client.delete(f"/v1/webhooks/{made.json()['webhook']['webhookId']}")
        assert removed.is_success, removed.text
        await until(lambda: daemon.injected() == 1)
        assert fault.raised == 1
        await daemon.undisturbed(neighbour)
