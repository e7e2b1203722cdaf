import os
import signal
import subprocess
import sys
from pathlib import Path

from living import alive, wait_for_pid, wait_until

from everyagent.runtime.process import Process
from everyagent.runtime.warden import Warden

#: A daemon that starts two agents; one leaves a grandchild in a session of its own.
FAKE_DAEMON = """
import anyio, os, sys
from pathlib import Path
from everyagent.runtime.process import Process
from everyagent.runtime.warden import Warden

async def main():
    warden = Warden()
    folder = Path(sys.argv[1])
    script = "echo $$ > {0}; (setsid sh -c 'echo $$ > {0}_stray; exec sleep 600' &); trap '' TERM; sleep 600"
    for name in ("one", "two"):
        await Process.start(["sh", "-c", script.format(name)], directory=folder,
                            environment={"PATH": os.environ["PATH"]}, warden=warden)
    Path(folder / "warden").write_text(str(warden._watcher.pid))
    await anyio.sleep_forever()

anyio.run(main)
"""


async def test_nothing_outlives_a_daemon_that_is_killed(tmp_path: Path) -> None:
    daemon = subprocess.Popen([sys.executable, "-c", FAKE_DAEMON, str(tmp_path)])
    names = ("one", "two", "one_stray", "two_stray", "warden")
    pids = [await wait_for_pid(tmp_path / name) for name in names]
    assert all(alive(pid) for pid in pids)
    daemon.send_signal(signal.SIGKILL)
    daemon.wait(30)
    await wait_until(lambda: not any(alive(pid) for pid in pids))


async def test_the_warden_holds_no_descriptor_of_the_daemon(warden: Warden, tmp_path: Path) -> None:
    with (tmp_path / "open").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        warden.watch()
        assert warden._watcher
        held = [os.readlink(path) for path in Path(f"/proc/{warden._watcher.pid}/fd").iterdir()]
    assert str(tmp_path / "open") not in held
    assert os.getsid(warden._watcher.pid) == warden._watcher.pid


async def test_a_warden_that_was_killed_is_started_again(warden: Warden) -> None:
    warden.watch()
    assert warden._watcher
    first = warden._watcher
    first.kill()
    await wait_until(lambda: first.poll() is not None)
    warden.watch()
    assert warden._watcher.pid != first.pid
    assert alive(warden._watcher.pid)


async def test_closing_kills_what_is_left(tmp_path: Path) -> None:
    warden = Warden()
    process = await Process.start(["sleep", "600"], directory=tmp_path, environment=dict(os.environ), warden=warden)
    await warden.close()
    assert not alive(process.pid)
    await process.stop(0)


async def test_an_earlier_daemons_agents_are_not_ours_to_kill(warden: Warden, tmp_path: Path) -> None:
    other = Warden()
    process = await Process.start(["cat"], directory=tmp_path, environment=dict(os.environ), warden=other)
    mine = await Process.start(["cat"], directory=tmp_path, environment=dict(os.environ), warden=warden)
    await mine.stop()
    await warden.close()
    assert alive(process.pid)
    await process.stop()
    await other.close()
