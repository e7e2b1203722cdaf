"""A node that stops while it answers requests."""

from typing import cast

import httpx2
import pytest

from everyagent.api.forwarding import Forwarder
from everyagent.cluster.node import Node
from everyagent.errors import Unavailable


async def test_a_command_that_a_stopping_node_cannot_forward_is_503() -> None:
    forwarder = Forwarder(cast("Node", None), lambda _: False, max_body=1, max_upload=1)
    await forwarder.close()
    with pytest.raises(Unavailable):
        await forwarder.send(httpx2.Request("POST", "http://127.0.0.1:1/v1/sessions"))
