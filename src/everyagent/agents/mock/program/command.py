"""A shell command, really run, its output told as it comes."""

import codecs
import os
import select
import signal
import subprocess
import time

from everyagent.agents.mock.program.outcome import ToolOutcome
from everyagent.agents.mock.program.turn import MockTurn

OUTPUT_LIMIT = 1024 * 1024


def run_command(turn: MockTurn, result: str, command: str) -> ToolOutcome:
    """In the session's directory, in a group of its own. Ends with the shell, not with what it left running."""
    begun = time.monotonic()
    child = subprocess.Popen(
        ["/bin/sh", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=turn.settings.directory,
        bufsize=0,
        start_new_session=True,
    )
    turn.breakable(lambda: _kill_group(child))
    output = _tell_output(turn, result, child)
    code = child.wait()
    turn.check()
    return ToolOutcome(output, code != 0, code, round((time.monotonic() - begun) * 1000))


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Only while the shell is not reaped: then its number may become another's."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _tell_output(turn: MockTurn, result: str, child: subprocess.Popen[bytes]) -> str:
    assert child.stdout
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    told: list[str] = []
    size = 0
    with child.stdout as pipe:
        while True:
            ended = child.poll() is not None
            if select.select([pipe], [], [], 0 if ended else 0.02)[0]:
                chunk = os.read(pipe.fileno(), 65536)
                if text := decoder.decode(chunk, final=not chunk):
                    turn.say("output", id=result, text=text)
                    told.append(text)
                if not chunk:
                    break
                size += len(chunk)
                if size > OUTPUT_LIMIT:
                    _kill_group(child)
                    break
            elif ended:
                break
    return "".join(told)
