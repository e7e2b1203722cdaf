"""Runs a shell command and streams its output."""

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
    """Runs in the session's directory, in a new process group. Ends with the shell, not with background processes."""
    begun = time.monotonic()
    child = subprocess.Popen(
        [turn.settings.shell, "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=turn.settings.directory,
        bufsize=0,
        start_new_session=True,
    )
    turn.breakable(lambda: _kill_group(child))
    output = _stream_output(turn, result, child)
    code = child.wait()
    turn.check()
    return ToolOutcome(output, code != 0, code, round((time.monotonic() - begun) * 1000))


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kills the group, unless the shell is reaped: its id may then belong to another process."""
    if child.returncode is None:
        try:
            os.killpg(child.pid, signal.SIGKILL)
        except ProcessLookupError:
            return


def _stream_output(turn: MockTurn, result: str, child: subprocess.Popen[bytes]) -> str:
    assert child.stdout
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    texts: list[str] = []
    size = 0
    with child.stdout as pipe:
        while True:
            ended = child.poll() is not None
            if select.select([pipe], [], [], 0 if ended else 0.02)[0]:
                chunk = os.read(pipe.fileno(), 65536)
                if text := decoder.decode(chunk, final=not chunk):
                    turn.say("output", id=result, text=text)
                    texts.append(text)
                if not chunk:
                    break
                size += len(chunk)
                if size > OUTPUT_LIMIT:
                    _kill_group(child)
                    break
            elif ended:
                break
    return "".join(texts)
