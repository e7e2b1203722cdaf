"""The permission hook: a program that an agent runs before each tool call, to ask the daemon whether it may.

Exit code 0 allows the call, 2 rejects it; any failure rejects it. Stdlib only and run by its path, so it starts fast.
Arguments: the daemon's socket, a file with the session's token, and lines to send before the agent's own description of
the call. The token itself is no argument, because every process on the machine can read those.
"""

import os
import socket
import sys

ALLOW, REJECT = 0, 2
CONNECT_LIMIT = 10.0
#: The daemon sends a heartbeat more often than this, however long a decision takes.
SILENCE_LIMIT = 60.0


def main() -> int:
    given = sys.stdin.buffer.read()  # all of it: some agents fail if a hook does not read its input
    try:
        address, token_file, *words = sys.argv[1:]
        with open(token_file) as file:
            token = file.read()
        verdict = ask(address, token, "".join(f"{word}\n" for word in words).encode() + given)
    except (OSError, ValueError) as error:
        return reject(f"This call needs permission, but everyagent's daemon is away ({error}).")
    if verdict == b"allow":
        return ALLOW
    words = verdict.removeprefix(b"reject ").decode(errors="replace")
    return reject(words or "This call needs permission, but everyagent's daemon closed the connection.")


def ask(address: str, token: str, given: bytes) -> bytes:
    """The daemon's answer; empty if it went away before it gave one."""
    with socket.socket(socket.AF_UNIX) as daemon:
        daemon.settimeout(CONNECT_LIMIT)
        daemon.connect(address)
        daemon.sendall(b"%s %s %d\n%s" % (token.encode(), os.urandom(16).hex().encode(), len(given), given))
        daemon.settimeout(SILENCE_LIMIT)
        received = b""
        while piece := daemon.recv(65536):
            received += piece
        return received.strip(b"\n")


def reject(words: str) -> int:
    sys.stderr.write(words)
    return REJECT


if __name__ == "__main__":
    sys.exit(main())
