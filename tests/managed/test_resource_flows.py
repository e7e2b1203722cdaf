"""Resources through each of the real SDKs, with strict validation."""

from pathlib import Path

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.compat.rows import compat_row
from tests.managed import parity
from tests.managed.git_stage import TOKEN, git_stage
from tests.managed.mcp_stage import mcp_stage
from tests.managed.sdks import NODE, PYTHON, Sdk

row = compat_row("anthropic-flows")


@pytest.mark.parametrize("flow", ["agents", "environments", "files", "skills", "memory"])
@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_manages_resources(flow: str, sdk: Sdk, tmp_path: Path) -> None:
    """With a daemon of its own: an older SDK cannot list what newer ones make in other tests."""
    own = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    own.start()
    try:
        parity.check(sdk, flow, "mock", sdk.run(flow, own.url))
    finally:
        own.stop()


@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_stores_secrets_in_vaults(sdk: Sdk, daemon: DaemonProcess) -> None:
    with mcp_stage() as stage:
        parity.check(sdk, "vaults", "mock", sdk.run("vaults", daemon.url, mcp=stage.url))
        if stage.asked:
            assert stage.asked == ["stale", "fresh-1", "fresh-1"]
            assert stage.renewals[0]["client_secret"].startswith("s3cr3t-")
    secrets = (b"s3cr3t-", b"refresh-1", b"fresh-1")
    kept = [path.read_bytes() for path in daemon.data_dir.rglob("*") if path.is_file()]
    assert not [secret for secret in secrets for content in kept if secret in content]
    assert not [secret for secret in secrets if secret.decode() in daemon.output()]


@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_attaches_resources_to_sessions(sdk: Sdk, daemon: DaemonProcess, tmp_path: Path) -> None:
    with git_stage(tmp_path) as (url, _):
        facts = {"agent": "mock", "repository": f"{url}/private/project.git", "token": TOKEN}
        parity.check(sdk, "workspace", "mock", sdk.run("workspace", daemon.url, **facts))
    kept = [path for path in daemon.data_dir.rglob("*") if path.is_file() and TOKEN.encode() in path.read_bytes()]
    assert kept == []
    assert TOKEN not in daemon.output()


@pytest.mark.parametrize("sdk", PYTHON, ids=lambda sdk: sdk.name)
def test_every_sdk_attaches_memory_stores_to_sessions(sdk: Sdk, daemon: DaemonProcess) -> None:
    parity.check(sdk, "remembering", "mock", sdk.run("remembering", daemon.url, agent="mock"))


def test_the_npm_sdk_manages_resources(daemon: DaemonProcess) -> None:
    with mcp_stage() as stage:
        parity.check(NODE, "resources", "mock", NODE.run("resources", daemon.url, mcp=stage.url))


def test_the_npm_sdk_manages_memories(daemon: DaemonProcess) -> None:
    parity.check(NODE, "memory", "mock", NODE.run("memory", daemon.url))


def test_the_npm_sdk_works_with_sessions(daemon: DaemonProcess, tmp_path: Path) -> None:
    with git_stage(tmp_path) as (url, _):
        facts = {"repository": f"{url}/private/project.git", "token": TOKEN}
        parity.check(NODE, "sessions", "mock", NODE.run("sessions", daemon.url, **facts))
