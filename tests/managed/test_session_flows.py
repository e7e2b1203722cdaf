"""Sessions through each of the real SDKs, with strict validation; a rebuild gives the same events."""

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.compat.rows import compat_row, passed
from tests.managed import parity
from tests.managed.sdks import PYTHON, Sdk

row = compat_row("anthropic-flows")


@pytest.mark.parametrize("flow", ["conversation", "actions", "lifecycle", "cookbook"])
@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_works_with_sessions(flow: str, sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, flow, "mock", sdk.run(flow, daemon.url))
    if flow == "cookbook":
        passed("cookbook-flows")


@pytest.mark.parametrize("sdk", PYTHON[:2], ids=lambda sdk: sdk.name)
def test_every_sdk_with_outcomes_uses_them(sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, "outcomes", "mock", sdk.run("outcomes", daemon.url))
