"""The hook server and the hook program: decisions, and rejection of the call on every failure."""

import os
import socket
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import ClassVar

import anyio
import pytest
from anyio import to_thread
from tests.waiting import LIMIT_SECONDS

from everyagent.agents import hook_client, hook_server
from everyagent.agents.hook_server import HookServer
from everyagent.agents.supervision import TaskSupervisor

INPUT = b'{"command":"touch x"}'


def run_hook(path: Path | str, token: str, *words: str) -> tuple[int, str]:
    """Run the hook as an agent does: its exit code and its stderr."""
    with tempfile.TemporaryDirectory() as folder:
        token_file = hook_server.write_token(Path(folder), token)
        assert token_file.stat().st_mode & 0o777 == 0o600
        done = subprocess.run(
            [sys.executable, "-I", "-S", hook_client.__file__, str(path), str(token_file), *words],
            input=INPUT,
            env={},
            capture_output=True,
            timeout=LIMIT_SECONDS,
        )
    return done.returncode, done.stderr.decode()


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[HookServer, Path]]:
    async with anyio.create_task_group() as tasks:
        made = HookServer(TaskSupervisor(tasks))
        try:
            yield made, await made.open()
        finally:
            await made.close()
            tasks.cancel_scope.cancel()


def answering(why: str | None, received: list[bytes]) -> hook_server.Answerer:
    async def answer(wish: bytes) -> str | None:
        received.append(wish)
        return why

    return answer


async def test_a_hook_gets_the_decision() -> None:
    received: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, received))
        assert await to_thread.run_sync(lambda: run_hook(path, token)) == (0, "")
        token = made.admit(answering("No.\nNever.", received))
        assert await to_thread.run_sync(lambda: run_hook(path, token, "asked", "a tool")) == (
            2,
            "No.\nNever.",
        )
    assert received == [INPUT, b"asked\na tool\n" + INPUT]


async def test_a_socket_that_was_deleted_is_replaced() -> None:
    received: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, received))
        path.unlink()
        assert (await to_thread.run_sync(lambda: run_hook(path, token)))[0] == 2
        other = await made.open()
        assert other == await made.open()
        assert await to_thread.run_sync(lambda: run_hook(other, token)) == (0, "")


async def test_a_decision_that_raises_rejects_the_call_and_the_server_continues() -> None:
    faults: list[Exception] = []

    async def fail(_: bytes) -> str | None:
        raise RuntimeError

    async def report(fault: Exception) -> None:
        faults.append(fault)

    async with opened() as (made, path):
        token = made.admit(fail, on_fault=report)
        code, words = await to_thread.run_sync(lambda: run_hook(path, token))
        assert code == 2
        assert "internal error" in words
        assert [type(fault) for fault in faults] == [RuntimeError]
        token = made.admit(answering(None, []))
        assert await to_thread.run_sync(lambda: run_hook(path, token)) == (0, "")


async def test_only_this_user_can_reach_the_socket() -> None:
    async with opened() as (_, path):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        folder = path.parent
    assert not folder.exists()


async def test_another_user_gets_no_decision(monkeypatch: pytest.MonkeyPatch) -> None:
    received: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, received))
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        code, words = await to_thread.run_sync(lambda: run_hook(path, token))
    assert (code, received) == (2, [])
    assert "daemon" in words


@pytest.mark.parametrize("given", [b"", b"\n", b"x\ny\nz\n", b"\xff\n\xff\n\xff\n"])
async def test_malformed_requests_are_rejected_and_the_server_continues(given: bytes) -> None:
    received: list[bytes] = []

    def shout(path: Path) -> bytes:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(30)
            stranger.connect(str(path))
            stranger.sendall(given)
            stranger.shutdown(socket.SHUT_WR)
            return stranger.recv(100)

    async with opened() as (made, path):
        token = made.admit(answering(None, received))
        assert not (await to_thread.run_sync(shout, path)).startswith(b"allow")
        assert received == []
        assert await to_thread.run_sync(lambda: run_hook(path, token)) == (0, "")


async def test_a_call_that_is_replayed_is_rejected() -> None:
    received: list[bytes] = []

    def replay(path: Path, body: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as again:
            again.settimeout(30)
            again.connect(str(path))
            again.sendall(body)
            answer = b""
            while piece := again.recv(1000):
                answer += piece
            return answer.strip(b"\n")

    async with opened() as (made, path):
        head = made.admit(answering(None, received)).encode() + b" 0a1b2c "
        assert await to_thread.run_sync(replay, path, head + b"4\nwish") == b"allow"
        for body in (b"4\nwish", b"7\nanother"):
            assert (await to_thread.run_sync(replay, path, head + body)).startswith(b"reject This call was decided")
    assert received == [b"wish"]


async def test_a_session_that_ended_rejects_calls() -> None:
    received: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, received))
        made.dismiss(token)
        code, words = await to_thread.run_sync(lambda: run_hook(path, token))
    assert (code, received) == (2, [])
    assert words


async def test_killing_the_hook_cancels_the_decision(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(hook_server, "HEARTBEAT", 0.02)
    asked, withdrawn = anyio.Event(), anyio.Event()

    async def answer(_: bytes) -> str | None:
        asked.set()
        try:
            await anyio.sleep_forever()
        finally:
            withdrawn.set()
        return None

    async with opened() as (made, path):
        token_file = hook_server.write_token(tmp_path, made.admit(answer))
        argv = [sys.executable, "-I", "-S", hook_client.__file__, str(path), str(token_file)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, env={}) as child:
            assert child.stdin
            child.stdin.close()
            with anyio.fail_after(LIMIT_SECONDS):
                await asked.wait()
                child.kill()
                await withdrawn.wait()


class CountingSocket(socket.socket):
    """A socket of the hook client. Its limit on silence is for each `recv`, so each heartbeat starts it anew."""

    received: ClassVar[list[bytes]] = []

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        piece = super().recv(bufsize, flags)
        self.received.append(piece)
        return piece


async def test_the_daemon_sends_heartbeats_while_a_person_thinks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_server, "HEARTBEAT", 0.02)
    monkeypatch.setattr(hook_client, "socket", SimpleNamespace(socket=CountingSocket, AF_UNIX=socket.AF_UNIX))
    monkeypatch.setattr(CountingSocket, "received", [])
    release = anyio.Event()

    async def answer(_: bytes) -> str | None:
        await release.wait()
        return None

    async with opened() as (made, path):
        token = made.admit(answer)
        verdicts: list[bytes] = []
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_asked, path, token, verdicts)
            with anyio.fail_after(LIMIT_SECONDS):
                while len(CountingSocket.received) < 5:
                    await anyio.sleep(0.01)
            assert set(CountingSocket.received) == {b"\n"}
            assert verdicts == []
            release.set()
    assert verdicts == [b"allow"]


async def _asked(path: Path, token: str, verdicts: list[bytes]) -> None:
    verdicts.append(await to_thread.run_sync(hook_client.ask, str(path), token, INPUT))


# -- no daemon -------------------------------------------------------------------------------------------------


def test_without_a_daemon_the_call_is_rejected(tmp_path: Path) -> None:
    code, words = run_hook(tmp_path / "none", "t")
    assert code == 2
    assert "daemon is away" in words


def test_the_socket_of_a_dead_daemon_rejects(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "gate"))
    assert run_hook(tmp_path / "gate", "t")[0] == 2


def listening(path: Path, then: Callable[[socket.socket], None]) -> threading.Thread:
    """A server that accepts one connection and hands it to `then`."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(path))
    server.listen()

    def serve() -> None:
        with server, server.accept()[0] as taken:
            then(taken)

    thread = threading.Thread(target=serve)
    thread.start()
    return thread


@pytest.mark.parametrize("said", [b"", b"\n\n", b"allowed", b"allow it", b"nonsense"])
def test_anything_but_allow_rejects(tmp_path: Path, said: bytes) -> None:
    def answer(taken: socket.socket) -> None:
        received = b""
        while INPUT not in received:
            received += taken.recv(65536)
        taken.sendall(said)

    thread = listening(tmp_path / "gate", answer)
    assert run_hook(tmp_path / "gate", "t")[0] == 2
    thread.join()


def test_a_silent_daemon_rejects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_client, "SILENCE_LIMIT", 0.05)
    over = threading.Event()

    def wait(_: socket.socket) -> None:
        over.wait(30)

    thread = listening(tmp_path / "gate", wait)
    with pytest.raises(TimeoutError):
        hook_client.ask(str(tmp_path / "gate"), "t", INPUT)
    over.set()
    thread.join()


def test_the_hook_imports_only_a_few_small_modules() -> None:
    """It is started before each tool call, so it must start fast."""
    code = f"import runpy, sys; runpy.run_path({hook_client.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"json", "asyncio", "everyagent", "re", "typing", "site"} & set(done.stdout.split()) - {"re", "typing"}
