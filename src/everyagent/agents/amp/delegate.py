"""The small program that Amp calls before it uses a tool: it asks the daemon, and its exit code is the answer.

Stdlib only, and run by its path with nothing else on it, so that it is there at once. Whatever goes wrong: no.
"""

import os
import socket
import sys

ALLOW, REJECT = 0, 2
CONNECT_LIMIT = 10.0
#: The daemon is heard of more often than this, however long a person thinks.
SILENCE_LIMIT = 60.0


def main() -> int:
    # Amp does not survive a delegate that leaves its input unread.
    given = sys.stdin.buffer.read()
    try:
        verdict = ask(os.environ["EVERYAGENT_GATE"], given)
    except (OSError, KeyError) as error:
        return reject(f"Nobody can be asked for permission: everyagent's daemon is away ({error}).")
    if verdict == b"allow":
        return ALLOW
    words = verdict.removeprefix(b"reject ").decode(errors="replace")
    return reject(words or "Nobody can be asked for permission: everyagent's daemon went away.")


def ask(gate: str, given: bytes) -> bytes:
    """Empty if the daemon went away before it said anything."""
    head = [os.environ["EVERYAGENT_GATE_TOKEN"], sys.argv[1], os.environ.get("AGENT_TOOL_NAME", "")]
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(CONNECT_LIMIT)
        daemon.connect(gate)
        daemon.sendall("\n".join([*head, ""]).encode() + given)
        daemon.shutdown(socket.SHUT_WR)
        daemon.settimeout(SILENCE_LIMIT)
        heard = b""
        while piece := daemon.recv(65536):
            heard += piece
        return heard.strip(b"\n")


def reject(words: str) -> int:
    sys.stderr.write(words)
    return REJECT


if __name__ == "__main__":
    sys.exit(main())
