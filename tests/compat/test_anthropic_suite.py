"""The tests of Anthropic's Python SDK, from its source archive, on a daemon, with real ids for their placeholders."""

import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path

from everyagent.testing.daemon import DaemonProcess
from tests.compat.id_proxy import id_proxy
from tests.compat.results import Result, check_result, refusals
from tests.node_packages import LIMIT_SECONDS, install_once

VERSION = "2.8.0"
NEEDS = (
    f"anthropic[aiohttp]=={VERSION}",
    "pytest==9.2.0",
    "pytest-asyncio==1.5.0",
    "inline-snapshot==0.36.1",
    "http-snapshot[httpx]==0.1.9",
    "respx==0.23.1",
    "rich==15.0.0",
)
PLUGINS = (
    "tests._alias_httpx",
    "pytest_asyncio.plugin",
    "http_snapshot._pytest_plugin",
    "inline_snapshot.pytest_plugin",
)
SUITES = (
    *(f"beta/test_{name}.py" for name in ("agents", "environments", "sessions", "vaults", "memory_stores")),
    *(f"beta/{name}" for name in ("agents", "environments", "sessions", "vaults", "memory_stores", "skills")),
    *("beta/test_deployments.py", "beta/test_deployment_runs.py"),
    *("beta/test_files.py", "beta/test_skills.py", "test_files.py", "test_skills.py", "skills"),
)
#: Why tests fail, by a part of their names. Each sends an example value that has no meaning.
REASONS = {
    "test_skills.py::TestSkills::test_": "a skill is uploaded without a SKILL.md (`Example data`)",
    "skills/test_versions.py::TestVersions::test_": "a skill is uploaded without a SKILL.md (`Example data`)",
    "list_with_all_params": "a page of no entries (`limit=0`), or filters that exclude each other",
    "TestThreads::test_": "the session's own thread is archived; only those of sub-agents can be",
    "TestSessions::test_method_update_with_all_params": "an MCP server is named that no toolset uses",
    "TestAgents::test_method_retrieve_with_all_params": "version 0 of an agent is read; versions begin at 1",
    "TestAgents::test_method_": "an MCP server is named that no toolset uses",
    "heartbeat_with_all_params": "a lease of 0 seconds is requested",
    "TestCredentials::test_method_update_with_all_params": "the kind of a credential is changed",
    "TestMemories::test_method_": "the digest of the expected content is that of another text",
}


def test_the_suite_of_the_python_sdk(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip"]
    needed = install_once(
        f"anthropic-{VERSION}-suite", lambda folder: [*pip, "install", "--target", str(folder), *NEEDS]
    )
    source = ["download", f"anthropic=={VERSION}", "--no-deps", "--no-binary", "anthropic", "--dest"]
    archive = install_once(f"anthropic-{VERSION}-source", lambda folder: [*pip, *source, str(folder)])
    with tarfile.open(archive / f"anthropic-{VERSION}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    daemon = DaemonProcess(tmp_path / "data", "--isolation", "none", "--default-agent", "mock")
    daemon.start()
    plugins = [word for plugin in (*PLUGINS, "respx.plugin") for word in ("-p", plugin)]
    chosen = ["-o", "addopts=", "-o", "filterwarnings=", "--tb=line", "-q", "-k", "strict and not TestAsync"]
    with id_proxy(daemon.url) as proxy:
        done = subprocess.run(
            [f"{sys.base_prefix}/bin/python3", "-s", "-m", "pytest", "-p", "no:cacheprovider", *plugins, *chosen]
            + [f"tests/api_resources/{suite}" for suite in SUITES],
            cwd=tmp_path / f"anthropic-{VERSION}",
            env={
                "PATH": os.environ["PATH"],
                "HOME": os.environ["HOME"],
                "PYTHONPATH": str(needed),
                "TEST_API_BASE_URL": proxy.url,
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
            },
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
    assert daemon.stop() == 0
    counts = re.search(r"(\d+) failed, (\d+) passed, \d+ deselected", done.stdout)
    assert counts, f"{done.stdout}\n{done.stderr}"
    failed = re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE)
    assert not re.search(r"^ERROR ", done.stdout, re.MULTILINE), done.stdout
    assert "Error code: 5" not in done.stdout, done.stdout
    assert proxy.undocumented() == []
    passed = int(counts[2])
    result = Result(
        program=f"`anthropic` for Python {VERSION}",
        run="its own tests of agents, environments, sessions, vaults, memory, files, skills and deployments, "
        "with strict types",
        passed=passed,
        total=passed + len(failed),
        refusals=refusals(failed, REASONS),
    )
    check_result("anthropic-python-2.8.0", result)
