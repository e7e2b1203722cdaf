"""Agents, environments, files, vaults and skills, as each of the real SDKs uses them, with strict validation."""

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed import parity
from tests.managed.mcp_stage import mcp_stage
from tests.managed.sdks import PYTHON, Sdk


@pytest.mark.parametrize("flow", ["agents", "environments", "files", "skills"])
@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_gets_what_it_expects_of(flow: str, sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, flow, "mock", sdk.run(flow, daemon.url))


@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_keeps_its_secrets_in_vaults(sdk: Sdk, daemon: DaemonProcess) -> None:
    with mcp_stage() as stage:
        parity.check(sdk, "vaults", "mock", sdk.run("vaults", daemon.url, mcp=stage.url))
        if stage.asked:
            assert stage.asked == ["stale", "fresh-1", "fresh-1"]
            assert stage.renewals[0]["client_secret"].startswith("s3cr3t-")
    secrets = (b"s3cr3t-", b"refresh-1", b"fresh-1")
    kept = [path.read_bytes() for path in daemon.data_dir.rglob("*") if path.is_file()]
    assert not [secret for secret in secrets for content in kept if secret in content]
    assert not [secret for secret in secrets if secret.decode() in daemon.output()]
