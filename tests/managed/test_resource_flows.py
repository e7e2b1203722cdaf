"""Agents, environments, files, vaults and skills, as each of the real SDKs uses them, with strict validation."""

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed import parity
from tests.managed.sdks import PYTHON, Sdk


@pytest.mark.parametrize("flow", ["agents", "environments", "files"])
@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_gets_what_it_expects_of(flow: str, sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, flow, "mock", sdk.run(flow, daemon.url))
