"""Programs of the daemon behind a wall end as those without one: after their limit, and with the daemon."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.isolation.walled_daemon import running
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.git.commands import Git
from everyagent.runtime import command
from everyagent.runtime.wall_probe import unavailable_reason

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=f"no walls here: {unavailable_reason()}")
MARK = f"everyagent-walled-{os.getpid()}"
PROGRAM = """
import subprocess, sys
from pathlib import Path
from everyagent.git.commands import Git
from everyagent.runtime import command
wall = Git(Path(sys.argv[1]) / "git").wall(read_only=[], writable=[])
words, variables = ["sh", "-c", "sleep 600; : " + sys.argv[2]], {"PATH": "/usr/bin:/bin"}
null = subprocess.DEVNULL
child = command.start(words, environment=variables, directory=Path("/"), stdout=null, stderr=null, wall=wall)
command.finish(child, 600)
"""


def test_a_program_behind_a_wall_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    mark = f"{MARK}-killed"
    with subprocess.Popen([sys.executable, "-c", PROGRAM, str(tmp_path), mark]) as starter:
        wait_until(lambda: len(running(mark)) > 1, "the program runs")
        starter.kill()
        starter.wait(LIMIT_SECONDS)
    wait_until(lambda: not running(mark), "the program has ended")


def test_a_program_behind_a_wall_ends_after_its_limit(tmp_path: Path) -> None:
    mark, null = f"{MARK}-late", subprocess.DEVNULL
    wall = Git(tmp_path / "git").wall(read_only=[], writable=[])
    words, variables = ["sh", "-c", f"sleep 600; : {mark}"], {"PATH": "/usr/bin:/bin"}
    child = command.start(words, environment=variables, directory=Path("/"), stdout=null, stderr=null, wall=wall)
    assert command.finish(child, 0.5) != 0
    wait_until(lambda: not running(mark), "the program has ended")
