"""Child processes: reading lines, writing frames, stopping."""

import os
import sys
from pathlib import Path

import anyio
import pytest
from running_processes import alive, wait_for_pid, wait_until
from tests.waiting import LIMIT_SECONDS

from everyagent.errors import AgentFailed, AgentNotInstalled
from everyagent.runtime.exit import Exit
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

ENVIRONMENT = {"PATH": os.environ["PATH"]}


async def start(reaper: Reaper, folder: Path, *argv: str) -> Process:
    return await Process.start(argv, directory=folder, environment=ENVIRONMENT, reaper=reaper)


async def shell(reaper: Reaper, folder: Path, script: str) -> Process:
    return await start(reaper, folder, "sh", "-c", script)


async def all_lines(process: Process) -> list[Line]:
    with anyio.fail_after(LIMIT_SECONDS):
        return [line async for batch in process.lines() for line in batch]


async def test_lines_are_read_as_written(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "cat")
    await process.write(b"one\ntwo\r\n\nlast")
    process.close_stdin()
    assert [line.body for line in await all_lines(process)] == [b"one", b"two", b"", b"last"]
    assert await process.stop() == Exit(code=0)


@pytest.mark.parametrize(("argument", "variable"), [("one\0--two", "value"), ("one", "value\0PATH=/other")])
async def test_a_nul_character_makes_no_further_argument_or_variable(
    reaper: Reaper, tmp_path: Path, argument: str, variable: str
) -> None:
    environment = {**ENVIRONMENT, "NAME": variable}
    with pytest.raises(AgentFailed, match="NUL character"):
        await Process.start(["echo", argument], directory=tmp_path, environment=environment, reaper=reaper)


async def test_a_frame_larger_than_the_pipe_is_written_whole(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "cat")
    frame = b"x" * 5_000_000 + b"\n"
    received: list[Line] = []

    async def read() -> None:
        received.extend(await all_lines(process))

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        await process.write(frame)
        await process.write(b"next\n")
        process.close_stdin()
    assert [len(line.body) for line in received] == [5_000_000, 4]
    await process.stop()


async def test_an_interrupt_is_sent_to_the_process_alone(reaper: Reaper, tmp_path: Path) -> None:
    program = (
        "import os, signal, subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "def heard(*_):\n    os.write(1, f'heard {child.poll()}\\n'.encode())\n    sys.exit(5)\n"
        "signal.signal(signal.SIGINT, heard)\nos.write(1, b'ready\\n')\ntime.sleep(60)\n"
    )
    process = await start(reaper, tmp_path, sys.executable, "-c", program)
    said: list[bytes] = []
    with anyio.fail_after(LIMIT_SECONDS):
        async for batch in process.lines():
            said += [line.body for line in batch]
            if said == [b"ready"]:
                process.interrupt()
    assert said == [b"ready", b"heard None"]
    assert await process.stop() == Exit(code=5)
    process.interrupt()


async def test_a_line_over_the_limit_is_cut_without_growing_memory(reaper: Reaper, tmp_path: Path) -> None:
    program = "import os\nfor _ in range(200): os.write(1, b'x' * 1048576)\nos.write(1, b'\\nnext\\n')"
    process = await start(reaper, tmp_path, sys.executable, "-c", program)
    lines = await all_lines(process)
    assert [(len(line.body), line.cut) for line in lines] == [(1024 * 1024, 200 * 1024 * 1024), (4, 0)]
    await process.stop()


async def test_nothing_is_read_while_the_reader_is_busy(reaper: Reaper, tmp_path: Path) -> None:
    program = (
        "import os\nfor n in range(1000):\n os.write(1, b'x' * 9999 + b'\\n')\n open('written', 'w').write(str(n))"
    )
    process = await start(reaper, tmp_path, sys.executable, "-c", program)
    batches = process.lines()
    received = len(await anext(batches))
    written = tmp_path / "written"
    stalled = -1

    def at_rest() -> bool:
        """Wait until the number stops growing, well below the last one."""
        nonlocal stalled
        before, stalled = stalled, int(written.read_text() or -1) if written.exists() else -1
        return before == stalled > 0

    await wait_until(at_rest, every=0.3)
    assert stalled < 500
    async for batch in batches:
        received += len(batch)
    assert received == 1000
    await process.stop()


async def test_the_lines_end_with_the_process_even_if_a_child_holds_its_stdout(reaper: Reaper, tmp_path: Path) -> None:
    stray = "setsid sh -c 'echo $$ > pid; exec sleep 600' & while [ ! -s pid ]; do sleep 0.01; done"
    process = await shell(reaper, tmp_path, f"{stray}; echo said; printf half")
    assert [line.body for line in await all_lines(process)] == [b"said", b"half"]
    assert not alive(await wait_for_pid(tmp_path / "pid"))
    await process.stop()


async def test_a_nudge_makes_a_silent_process_yield(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "cat")
    batches = process.lines()
    process.nudge()
    with anyio.fail_after(LIMIT_SECONDS):
        assert await anext(batches) == []
    await batches.aclose()
    await process.stop(0)


async def _write_forever(process: Process) -> None:
    while True:
        await process.write(b"anyone?\n")
        await anyio.sleep(0.01)


async def test_writing_to_a_closed_stdin_is_an_agent_failure(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "exec 0<&-; echo closed; sleep 600")
    batches = process.lines()
    assert await anext(batches) == [Line(b"closed")]
    with pytest.raises(AgentFailed, match="closed its input"), anyio.fail_after(LIMIT_SECONDS):
        await _write_forever(process)  # the process that started the shell has its own copy of stdin for another moment
    with pytest.raises(AgentFailed, match="is closed"):
        await process.write(b"anyone?\n")
    await batches.aclose()
    await process.stop(0)


async def test_stopping_aborts_a_blocked_write(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "sleep 600")
    failures: list[AgentFailed] = []

    async def write() -> None:
        try:
            await process.write(b"x" * 10_000_000)
        except AgentFailed as failure:
            failures.append(failure)

    async with anyio.create_task_group() as group:
        group.start_soon(write)
        await anyio.wait_all_tasks_blocked()
        await process.stop(0)
    assert len(failures) == 1


@pytest.mark.parametrize(
    ("script", "grace", "expected"),
    [
        ("echo up; cat; exit 7", 30, Exit(code=7)),
        ("echo up; sleep 600", 0.2, Exit(signal="SIGTERM")),
        ("trap '' TERM; echo up; while true; do sleep 600; done", 0.2, Exit(signal="SIGKILL")),
    ],
)
async def test_stop_escalates_from_closed_stdin_to_sigkill(
    reaper: Reaper, tmp_path: Path, script: str, grace: float, expected: Exit
) -> None:
    process = await shell(reaper, tmp_path, script)
    batches = process.lines()
    await anext(batches)
    assert await process.stop(grace) == expected
    assert await process.stop(grace) == expected
    await batches.aclose()


async def test_stop_kills_the_whole_process_tree(reaper: Reaper, tmp_path: Path) -> None:
    script = """
    sleep 600 & echo $! > child
    setsid sh -c 'echo $$ > own_session; exec sleep 600' &
    (setsid sh -c '(echo $$ > double; exec sleep 600) &' &)
    env -i /bin/sleep 600 & echo $! > no_environment
    trap '' TERM
    sleep 600
    """
    process = await shell(reaper, tmp_path, script)
    names = ("child", "own_session", "double", "no_environment")
    pids = [await wait_for_pid(tmp_path / name) for name in names]
    bystander = await shell(reaper, tmp_path, "cat")
    await process.stop(0)
    assert [alive(pid) for pid in pids] == [False] * 4
    assert alive(bystander.pid)
    await bystander.stop()


async def test_stderr_is_read_while_stdout_is_not(reaper: Reaper, tmp_path: Path) -> None:
    process = await shell(reaper, tmp_path, "i=0; while [ $i -lt 20000 ]; do echo line $i >&2; i=$((i+1)); done")
    with anyio.fail_after(LIMIT_SECONDS):
        await process.wait()
    assert process.stderr
    assert process.stderr.total_lines == 20000
    assert process.last_error_line == "line 19999"
    await process.stop()


async def test_the_error_about_a_missing_program_or_directory_names_it(reaper: Reaper, tmp_path: Path) -> None:
    with pytest.raises(AgentNotInstalled, match="no-such-program"):
        await start(reaper, tmp_path, "no-such-program")
    with pytest.raises(AgentFailed, match="does not exist"):
        await start(reaper, tmp_path / "nowhere", "cat")


async def test_no_descriptor_is_left_open(reaper: Reaper, tmp_path: Path) -> None:
    async def once() -> None:
        process = await shell(reaper, tmp_path, "echo hi; cat")
        await process.stop(0)

    await once()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        await once()
    assert len(os.listdir("/proc/self/fd")) == before
