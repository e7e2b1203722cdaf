"""The restricted shell, with real namespaces and real programs that try to leave them."""

import asyncio
import os
import socket
import subprocess
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from anyio import to_thread
from tests.agents.offline import needs_isolation

from everyagent.errors import AgentFailed
from everyagent.runtime import restricted_shell as shells
from everyagent.runtime.restricted_shell import RestrictedShell

pytestmark = needs_isolation
NETWORK = "readlink /proc/self/ns/net"


@asynccontextmanager
async def opened(folder: Path, *allowed: str) -> AsyncGenerator[RestrictedShell]:
    shell = await RestrictedShell.open(allowed, folder / "shell")
    try:
        yield shell
    finally:
        shell.close()


async def ran(*argv: str | Path, **more: str) -> subprocess.CompletedProcess[str]:
    environment: Mapping[str, str] = {**os.environ, **more}
    return await to_thread.run_sync(
        lambda: subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=120)
    )


async def test_commands_run_in_their_own_network(tmp_path: Path) -> None:
    async with opened(tmp_path) as shell:
        done = await ran(shell.bash, "-c", f"cd /usr && pwd && {NETWORK} && id -u; exit 7", "zero", "a b")
        where, network, user = done.stdout.split()
        assert (where, user, done.returncode) == ("/usr", str(os.geteuid()), 7)
        assert network != os.readlink("/proc/self/ns/net")
        assert (await ran(shell.bash, "--version")).stdout.startswith("GNU bash")
        assert (await ran(shell.bash, "-c", 'echo "$0|$1|$SHELL"', "zero", "a b")).stdout.startswith("zero|a b|/")


async def test_bash_env_moves_any_bash_into_the_network(tmp_path: Path) -> None:
    async with opened(tmp_path) as shell:
        inside = (await ran(shell.bash, "-c", NETWORK)).stdout
        script = tmp_path / "script.sh"
        script.write_text(f'{NETWORK}; echo "$1"')
        for argv in (("-c", f'{NETWORK}; echo "$1"', "zero", "one two"), (script, "one two")):
            done = await ran("bash", *argv, BASH_ENV=str(shell.bash_env))
            assert done.stdout == f"{inside}one two\n", done.stderr


async def test_commands_share_one_loopback(tmp_path: Path) -> None:
    served = f"{sys.executable} -m http.server 8999 --bind 127.0.0.1"
    fetch = f"{sys.executable} -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8999').status)\""
    async with opened(tmp_path) as shell:
        begun = subprocess.Popen([shell.bash, "-c", f"exec {served}"], stderr=subprocess.DEVNULL, cwd=tmp_path)
        try:
            async with asyncio.timeout(60):
                while (await ran(shell.bash, "-c", fetch)).stdout != "200\n":
                    await asyncio.sleep(0.05)
        finally:
            begun.kill()
            begun.wait()


async def test_only_the_proxy_leads_outside(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        port, daemon = outside.getsockname()[1], os.getpid()
        reach = f"import socket; socket.create_connection(('127.0.0.1', {port}), 10)"
        attempts = (
            f'{sys.executable} -c "{reach}"',
            f"bash -c '{sys.executable} -c \"{reach}\"'",
            f'env -i {sys.executable} -c "{reach}"',
            f'nsenter --net=/proc/{daemon}/ns/net {sys.executable} -c "{reach}"',
            f'nsenter --user=/proc/{daemon}/ns/user --net=/proc/{daemon}/ns/net {sys.executable} -c "{reach}"',
            f'nsenter --net=/proc/1/ns/net {sys.executable} -c "{reach}"',
            f"cat /proc/{daemon}/environ",
        )
        assert (await ran(sys.executable, "-c", reach)).returncode == 0, "the test can tell"
        async with opened(tmp_path) as shell:
            for attempt in attempts:
                done = await ran(shell.bash, "-c", attempt)
                assert done.returncode != 0, attempt


async def test_programs_get_the_proxy_variables(tmp_path: Path) -> None:
    get = "import urllib.request as u; print(u.urlopen('http://allowed.invalid/').read())"
    async with opened(tmp_path, "allowed.invalid") as shell:
        done = await ran(shell.bash, "-c", f'{sys.executable} -c "{get}"')
        assert "502" in done.stderr, "it was asked, and nobody has that name"
        done = await ran(shell.bash, "-c", f'{sys.executable} -c "{get}"'.replace("allowed.", "other."))
        assert "403" in done.stderr


async def test_a_closed_shell_runs_nothing_and_leaves_nothing_open(tmp_path: Path) -> None:
    before = set(os.listdir("/proc/self/fd"))
    async with opened(tmp_path) as shell:
        assert (await ran(shell.bash, "-c", "echo there")).stdout == "there\n"
    await asyncio.sleep(0)
    done = await ran(shell.bash, "-c", f"touch {tmp_path}/made")
    assert done.returncode == 126
    assert "this session's network is closed" in done.stderr
    assert not (tmp_path / "made").exists()
    assert len(os.listdir("/proc/self/fd")) <= len(before) + 1


async def test_a_machine_that_cannot_restrict_the_network_gives_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert shells.unavailable_reason() is None
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(AgentFailed, match="There is no program bash"):
        await RestrictedShell.open([], tmp_path / "shell")
    shells.unavailable_reason.cache_clear()
    assert "There is no program bash" in str(shells.unavailable_reason())
    shells.unavailable_reason.cache_clear()
