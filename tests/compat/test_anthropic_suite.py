"""The tests of Anthropic's Python SDK, from its source archive, on a daemon, with real ids for their placeholders."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from everyagent.testing.daemon import DaemonProcess
from tests.compat.anthropic_source import VERSION, unpacked
from tests.compat.id_proxy import id_proxy
from tests.compat.results import IN_MAKE_TEST, TODAY, Reason, Result, by_hand, check_result, refusals
from tests.node_packages import LIMIT_SECONDS, install_once

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
_NO_SKILL = r"code: 400 .* is no path inside of a skill's folder"
_NO_TOOLSET = r"code: 400 .*No `mcp_toolset` in `tools` is for the MCP server"
#: Why tests fail. Each sends an example value that has no meaning.
REASONS = (
    Reason("test_skills.py", _NO_SKILL, "a skill is uploaded without a SKILL.md (`Example data`)"),
    Reason("skills/test_versions.py", _NO_SKILL, "a skill is uploaded without a SKILL.md (`Example data`)"),
    Reason(
        "list_with_all_params", r"code: 400 .*Expected `int` >= 1 \(at `limit`\)", "a page of no entries (`limit=0`)"
    ),
    Reason("test_files.py", r"code: 400 .*`ids` stands alone", "files are listed by ids and by pages at once"),
    Reason(
        "test_threads.py",
        r"code: 400 .*The session's own thread is archived with it",
        "the session's own thread is archived; only those of sub-agents can be",
    ),
    Reason("test_sessions.py", _NO_TOOLSET, "an MCP server is named that no toolset uses"),
    Reason("test_agents.py", _NO_TOOLSET, "an MCP server is named that no toolset uses"),
    Reason(
        "test_agents.py",
        r"code: 404 .*has no version 0",
        "version 0 of an agent is read; versions begin at 1",
    ),
    Reason(
        "heartbeat_with_all_params",
        r"code: 400 .*Expected `int` >= 1 \(at `desired_ttl_seconds`\)",
        "a lease of 0 seconds is requested",
    ),
    Reason("test_credentials.py", r"code: 400 .*`auth\.type` cannot change", "the kind of a credential is changed"),
    Reason(
        "test_memories.py",
        r"code: 409 .*The content of mem_\w+ is not",
        "the digest of the expected content is that of another text",
    ),
    Reason(
        "test_memories.py",
        r"code: 400 .*\(at `expected_content_sha256`\)",
        "the digest of the expected content is no digest",
    ),
)


class Ran(NamedTuple):
    """`failed` has the error of each test that failed, by the test's name."""

    passed: int
    failed: dict[str, str]


def run_suite(folder: Path, *chosen: str) -> Ran:
    """Runs the chosen tests in a folder of their own. Fails if the daemon answers with something undocumented."""
    pip = [sys.executable, "-m", "pip"]
    needed = install_once(f"anthropic-{VERSION}-suite", lambda made: [*pip, "install", "--target", str(made), *NEEDS])
    source = unpacked(folder)
    daemon = DaemonProcess(folder / "data", "--isolation", "none", "--default-agent", "mock")
    daemon.start()
    plugins = [word for plugin in (*PLUGINS, "respx.plugin") for word in ("-p", plugin)]
    settings = ["-o", "addopts=", "-o", "filterwarnings=", "--tb=line", "-q", "-p", "no:cacheprovider"]
    with id_proxy(daemon.url) as proxy:
        done = subprocess.run(
            [f"{sys.base_prefix}/bin/python3", "-s", "-m", "pytest", *plugins, *settings, *chosen]
            + [f"tests/api_resources/{suite}" for suite in SUITES],
            cwd=source,
            env={
                "PATH": os.environ["PATH"],
                "HOME": os.environ["HOME"],
                "PYTHONPATH": str(needed),
                "TEST_API_BASE_URL": proxy.url,
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "COLUMNS": "10000",  # a line of the summary has the whole error
            },
            capture_output=True,
            text=True,
            timeout=LIMIT_SECONDS * 4,
            check=False,
        )
    assert daemon.stop() == 0
    counts = re.search(r"(\d+) failed, (\d+) passed", done.stdout)
    assert counts, f"{done.stdout}\n{done.stderr}"
    failed = dict(re.findall(r"^FAILED (\S+) - (.*)$", done.stdout, re.MULTILINE))
    assert len(failed) == int(counts[1]), done.stdout
    assert not re.search(r"^ERROR ", done.stdout, re.MULTILINE), done.stdout
    assert "Error code: 5" not in done.stdout, done.stdout
    assert proxy.undocumented() == []
    return Ran(int(counts[2]), failed)


def result_of(ran: Ran, program: str, run: str, when: str = IN_MAKE_TEST) -> Result:
    total = ran.passed + len(ran.failed)
    return Result(
        program=program, run=run, passed=ran.passed, total=total, when=when, refusals=refusals(ran.failed, REASONS)
    )


def test_the_suite_of_the_python_sdk(tmp_path: Path) -> None:
    ran = run_suite(tmp_path, "-k", "strict and not TestAsync")
    of_all = "its own tests of agents, environments, sessions, vaults, memory, files, skills and deployments"
    program = f"`anthropic` for Python {VERSION}"
    check_result("anthropic-python-2.8.0", result_of(ran, program, f"{of_all}, with strict types"))


@by_hand
def test_the_suite_in_all_its_forms(tmp_path: Path) -> None:
    run = "the same tests with loose types, asynchronous clients and aiohttp, too"
    result = result_of(run_suite(tmp_path), f"`anthropic` for Python {VERSION}, all forms", run, TODAY)
    check_result("anthropic-python-all-forms", result)
