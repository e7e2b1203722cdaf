"""The gate and the small program that knocks at it: who is heard, what is told, and that the rest means no."""

import os
import socket
import stat
import subprocess
import sys
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

from everyagent.agents import hook_client as knocking
from everyagent.agents import hook_server
from everyagent.agents.hook_server import Gate
from everyagent.agents.supervision import TaskSupervisor

INPUT = b'{"command":"touch x"}'


def knock(path: Path | str, token: str, *words: str) -> tuple[int, str]:
    """As an agent calls it: its exit code, and what it said on stderr."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", knocking.__file__, str(path), token, *words],
        input=INPUT,
        env={},
        capture_output=True,
        timeout=LIMIT_SECONDS,
    )
    return done.returncode, done.stderr.decode()


@asynccontextmanager
async def opened() -> AsyncGenerator[tuple[Gate, Path]]:
    async with anyio.create_task_group() as tasks:
        made = Gate(TaskSupervisor(tasks))
        try:
            yield made, await made.open()
        finally:
            await made.close()
            tasks.cancel_scope.cancel()


def answering(why: str | None, heard: list[bytes]) -> hook_server.Answerer:
    async def answer(wish: bytes) -> str | None:
        heard.append(wish)
        return why

    return answer


async def test_a_wish_is_heard_and_answered() -> None:
    heard: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, heard))
        assert await to_thread.run_sync(lambda: knock(path, token)) == (0, "")
        token = made.admit(answering("No, said Ann.\nNever.", heard))
        assert await to_thread.run_sync(lambda: knock(path, token, "asked", "a tool")) == (2, "No, said Ann.\nNever.")
    assert heard == [INPUT, b"asked\na tool\n" + INPUT]


async def test_a_gate_that_was_tidied_away_is_opened_again() -> None:
    heard: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, heard))
        path.unlink()
        assert (await to_thread.run_sync(lambda: knock(path, token)))[0] == 2
        other = await made.open()
        assert other == await made.open()
        assert await to_thread.run_sync(lambda: knock(other, token)) == (0, "")


async def test_an_answer_that_fails_is_no_and_the_gate_stays_open() -> None:
    async def fail(_: bytes) -> str | None:
        raise RuntimeError

    async with opened() as (made, path):
        token = made.admit(fail)
        assert (await to_thread.run_sync(lambda: knock(path, token)))[0] == 2
        token = made.admit(answering(None, []))
        assert await to_thread.run_sync(lambda: knock(path, token)) == (0, "")


async def test_only_this_user_gets_near_it() -> None:
    async with opened() as (_, path):
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        folder = path.parent
    assert not folder.exists()


async def test_somebody_else_is_not_heard(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, heard))
        monkeypatch.setattr(os, "geteuid", lambda: 12345)
        code, words = await to_thread.run_sync(lambda: knock(path, token))
    assert (code, heard) == (2, [])
    assert "daemon" in words


@pytest.mark.parametrize("given", [b"", b"\n", b"x\ny\nz\n", b"\xff\n\xff\n\xff\n"])
async def test_nonsense_is_refused_and_the_gate_stays_open(given: bytes) -> None:
    heard: list[bytes] = []

    def shout(path: Path) -> bytes:
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.settimeout(30)
            stranger.connect(str(path))
            stranger.sendall(given)
            stranger.shutdown(socket.SHUT_WR)
            return stranger.recv(100)

    async with opened() as (made, path):
        token = made.admit(answering(None, heard))
        assert not (await to_thread.run_sync(shout, path)).startswith(b"allow")
        assert heard == []
        assert await to_thread.run_sync(lambda: knock(path, token)) == (0, "")


async def test_a_session_that_is_over_is_told_no() -> None:
    heard: list[bytes] = []
    async with opened() as (made, path):
        token = made.admit(answering(None, heard))
        made.dismiss(token)
        code, words = await to_thread.run_sync(lambda: knock(path, token))
    assert (code, heard) == (2, [])
    assert words


async def test_a_program_that_is_killed_withdraws_its_wish(monkeypatch: pytest.MonkeyPatch) -> None:
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
        token = made.admit(answer)
        argv = [sys.executable, "-I", "-S", knocking.__file__, str(path), token]
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
    monkeypatch.setattr(knocking, "socket", SimpleNamespace(socket=CountingSocket, AF_UNIX=socket.AF_UNIX))
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
    verdicts.append(await to_thread.run_sync(knocking.ask, str(path), token, INPUT))


# -- nobody there -------------------------------------------------------------------------------------------------


def test_without_a_daemon_it_rejects(tmp_path: Path) -> None:
    code, words = knock(tmp_path / "none", "t")
    assert code == 2
    assert "daemon is away" in words


def test_a_socket_that_a_dead_daemon_left_means_no(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(tmp_path / "gate"))
    assert knock(tmp_path / "gate", "t")[0] == 2


def listening(path: Path, then: Callable[[socket.socket], None]) -> threading.Thread:
    """A daemon that takes the call, and then does something with it."""
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
def test_whatever_is_no_clear_yes_means_no(tmp_path: Path, said: bytes) -> None:
    def answer(taken: socket.socket) -> None:
        heard = b""
        while INPUT not in heard:
            heard += taken.recv(65536)
        taken.sendall(said)

    thread = listening(tmp_path / "gate", answer)
    assert knock(tmp_path / "gate", "t")[0] == 2
    thread.join()


def test_a_daemon_that_falls_silent_means_no(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(knocking, "SILENCE_LIMIT", 0.05)
    over = threading.Event()

    def wait(_: socket.socket) -> None:
        over.wait(30)

    thread = listening(tmp_path / "gate", wait)
    with pytest.raises(TimeoutError):
        knocking.ask(str(tmp_path / "gate"), "t", INPUT)
    over.set()
    thread.join()


def test_it_imports_nothing_but_a_few_small_modules() -> None:
    """It is started before each tool, so it must be there at once."""
    code = f"import runpy, sys; runpy.run_path({knocking.__file__!r}); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=True)
    assert not {"json", "asyncio", "everyagent", "re", "typing", "site"} & set(done.stdout.split()) - {"re", "typing"}
