"""The small program that an agent calls before it uses a tool: it asks the daemon, and its exit code is the answer.

Stdlib only, and run by its path with nothing else on it, so that it is there at once. Whatever goes wrong: no.
Arguments: the gate, the session's token, and what the daemon shall hear, line by line, before the agent's own words.
"""

import socket
import sys

ALLOW, REJECT = 0, 2
CONNECT_LIMIT = 10.0
#: The daemon is heard of more often than this, however long a person thinks.
SILENCE_LIMIT = 60.0


def main() -> int:
    given = sys.stdin.buffer.read()  # all of it: not every agent survives a program that leaves its input unread
    try:
        gate, token, *words = sys.argv[1:]
        verdict = ask(gate, token, "".join(f"{word}\n" for word in words).encode() + given)
    except (OSError, ValueError) as error:
        return reject(f"Nobody can be asked for permission: everyagent's daemon is away ({error}).")
    if verdict == b"allow":
        return ALLOW
    words = verdict.removeprefix(b"reject ").decode(errors="replace")
    return reject(words or "Nobody can be asked for permission: everyagent's daemon went away.")


def ask(gate: str, token: str, given: bytes) -> bytes:
    """Empty if the daemon went away before it said anything."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(CONNECT_LIMIT)
        daemon.connect(gate)
        daemon.sendall(b"%s %d\n%s" % (token.encode(), len(given), given))
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
