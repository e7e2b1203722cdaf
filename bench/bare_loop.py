"""The least that the hot path can do: read lines, commit them, write as many bytes to one reader. No schema.

Usage: bare_loop.py DATABASE PORT LINES SIZE BYTES CORE. It waits for one reader, and then floods itself from a child
process on that core: LINES lines of SIZE letters. Each line is padded to BYTES, which is what an event takes in the
daemon's stream. Every batch that was read is one transaction, with `synchronous=FULL`.
"""
# pyright: reportUnknownMemberType=false

import fcntl
import os
import socket
import subprocess
import sys

import apsw

READ = 1 << 20
CHILD = """
import os, sys
lines, size, core = map(int, sys.argv[1:])
os.sched_setaffinity(0, {core})
sys.stdout.buffer.write((b"x" * size + b"\\n") * lines)
"""


def main() -> None:
    database = sys.argv[1]
    port, lines, size, length, core = map(int, sys.argv[2:])
    connection = apsw.Connection(database)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=FULL")
    connection.execute("CREATE TABLE events (sequence INTEGER PRIMARY KEY, body BLOB)")
    with socket.create_server(("127.0.0.1", port)) as server:
        reader, _ = server.accept()
    with reader:
        reader.recv(4096)
        reader.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        words = map(str, (lines, size, core))
        child = subprocess.Popen([sys.executable, "-c", CHILD, *words], stdout=subprocess.PIPE)
        assert child.stdout is not None
        padding = b" " * max(0, length - size - 50)
        sequence, rest, source = 0, b"", child.stdout.fileno()
        fcntl.fcntl(source, fcntl.F_SETPIPE_SZ, READ)
        while piece := os.read(source, READ):
            *whole, rest = (rest + piece).split(b"\n")
            bodies = [line + padding for line in whole]
            rows = list(enumerate(bodies, sequence + 1))
            with connection:
                connection.executemany("INSERT INTO events VALUES (?, ?)", rows)
            reader.sendall(b"".join([b"id: %d\nevent: message\ndata: %b\n\n" % row for row in rows]))
            sequence += len(rows)
        reader.sendall(b"data: the end\n\n")
        child.wait()


if __name__ == "__main__":
    main()
