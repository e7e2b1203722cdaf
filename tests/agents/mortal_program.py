"""A program around a real agent that ends when a test says so: exit code 0 on SIGUSR1, 7 on SIGUSR2.

`mortal` writes it; the daemon takes it for the agent's own program.
"""

import os
import shutil
import signal
import sys
from pathlib import Path

WAYS = {"SIGKILL": signal.SIGKILL, "exit 0": signal.SIGUSR1, "exit 7": signal.SIGUSR2}
LINES = 100
_PROGRAM = """#!{python}
import os, signal, subprocess, sys
def end(number, _):
    for line in range({lines}):
        print("line", line, file=sys.stderr)
    sys.stderr.flush()
    child.kill()
    os._exit(0 if number == signal.SIGUSR1 else 7)
child = subprocess.Popen([{binary!r}, *sys.argv[1:]])
signal.signal(signal.SIGUSR1, end)
signal.signal(signal.SIGUSR2, end)
sys.exit(child.wait())
"""


def mortal(binary: str, folder: Path, *, walled: bool = False) -> str:
    """The path of a program that runs `binary`. Behind a wall it sees the files of its own folder alone."""
    if walled:
        copied = folder / f"real-{Path(binary).name}"
        shutil.copy(binary, copied)
        binary = str(copied)
    path = folder / f"mortal-{Path(binary).name}"
    path.write_text(_PROGRAM.format(python=sys.executable, binary=binary, lines=LINES))
    path.chmod(0o755)
    return str(path)


def end(mark: str, way: str) -> None:
    """End the program that has this mark in its environment."""
    for name in filter(str.isdecimal, os.listdir("/proc")):
        try:
            marked = mark.encode() in Path(f"/proc/{name}/environ").read_bytes().split(b"\0")
            command = Path(f"/proc/{name}/cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marked and command[0] == sys.executable.encode() and b"/mortal-" in command[1]:
            os.kill(int(name), WAYS[way])
            return
    raise AssertionError(f"no program has {mark}")
