"""The mock program with one more directive, `[hostile kind=…]`, which breaks every rule of a well-behaved agent.

Runs without site packages.
"""

import os
import sys
import threading

from everyagent.agents.mock.directives import Directive
from everyagent.agents.mock.program import acts
from everyagent.agents.mock.program.turn import MockTurn

_MEGABYTE = b"x" * (1 << 20)
#: With this in its environment, the program never becomes ready.
NEVER_READY = "TORTURE_NEVER_READY"


def hostile(turn: MockTurn, directive: Directive) -> None:
    match directive.text("kind", ""):
        case "line":
            for _ in range(directive.whole("megabytes", 1024)):
                turn.write(_MEGABYTE)
            turn.write(b"\n")
        case "endless":
            for _ in range(directive.whole("megabytes", 256)):
                turn.write(_MEGABYTE)
            turn.pause(None)
        case "file":
            with open(directive.text("path", ""), "rb") as file:
                turn.write(file.read())
        case "closed stdout":
            os.close(1)
            turn.pause(None)
        case "torn":
            turn.write(b'{"type":"text","id":"')
            os._exit(1)
        case other:
            turn.message(f"I do not know the kind {other!r}.")


def main() -> None:
    if NEVER_READY in os.environ:
        threading.Event().wait()
    acts.ACTS["hostile"] = hostile
    from everyagent.agents.mock.program.main import main as mock

    mock()


if __name__ == "__main__":
    sys.exit(main())
