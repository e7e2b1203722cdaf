"""The watcher that kills remaining processes of a dead daemon."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from running_processes import alive, wait_for_pid, wait_until

from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

#: A daemon that starts two agents, one of which starts a grandchild in its own session.
FAKE_DAEMON = """
import anyio, os, sys
from pathlib import Path
from everyagent.runtime.process import Process
from everyagent.runtime.reaper import Reaper

async def main():
    reaper = Reaper()
    folder = Path(sys.argv[1])
    script = "echo $$ > {0}; (setsid sh -c 'echo $$ > {0}_stray; exec sleep 600' &); trap '' TERM; sleep 600"
    for name in ("one", "two"):
        await Process.start(["sh", "-c", script.format(name)], directory=folder,
                            environment={"PATH": os.environ["PATH"]}, reaper=reaper)
    Path(folder / "reaper").write_text(str(reaper._watcher.pid))
    await anyio.sleep_forever()

anyio.run(main)
"""


async def test_no_process_outlives_a_killed_daemon(tmp_path: Path) -> None:
    daemon = subprocess.Popen([sys.executable, "-c", FAKE_DAEMON, str(tmp_path)])
    names = ("one", "two", "one_stray", "two_stray", "reaper")
    pids = [await wait_for_pid(tmp_path / name) for name in names]
    assert all(alive(pid) for pid in pids)
    daemon.send_signal(signal.SIGKILL)
    daemon.wait(30)
    await wait_until(lambda: not any(alive(pid) for pid in pids))


async def test_the_watcher_holds_no_descriptor_of_the_daemon(reaper: Reaper, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        reaper.watch()
        assert reaper._watcher
        held = [os.readlink(path) for path in Path(f"/proc/{reaper._watcher.pid}/fd").iterdir()]
    assert str(tmp_path / "open") not in held
    assert os.getsid(reaper._watcher.pid) == reaper._watcher.pid


async def test_a_killed_watcher_is_started_again(reaper: Reaper) -> None:
    reaper.watch()
    assert reaper._watcher
    first = reaper._watcher
    first.kill()
    await wait_until(lambda: first.poll() is not None)
    reaper.watch()
    assert reaper._watcher.pid != first.pid
    assert alive(reaper._watcher.pid)


async def test_closing_kills_remaining_processes(tmp_path: Path) -> None:
    reaper = Reaper()
    process = await Process.start(["sleep", "600"], directory=tmp_path, environment=dict(os.environ), reaper=reaper)
    await reaper.close()
    assert not alive(process.pid)
    await process.stop(0)


async def test_processes_of_another_daemon_are_not_killed(reaper: Reaper, tmp_path: Path) -> None:
    other = Reaper()
    process = await Process.start(["cat"], directory=tmp_path, environment=dict(os.environ), reaper=other)
    mine = await Process.start(["cat"], directory=tmp_path, environment=dict(os.environ), reaper=reaper)
    await mine.stop()
    await reaper.close()
    assert alive(process.pid)
    await process.stop()
    await other.close()
