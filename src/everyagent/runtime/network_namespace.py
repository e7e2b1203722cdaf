"""A program that creates a network namespace with only a loopback device, and sends it to the daemon.

Uses only the standard library and is run by its path. Sends descriptors of the user namespace, the network namespace
and a socket that listens in it; the namespaces exist as long as these are open. Argument: the socket to send them over.
"""

import ctypes
import fcntl
import os
import socket
import struct
import sys
from pathlib import Path

_NEW_USER, _NEW_NET = 0x10000000, 0x40000000
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x1 | 0x40


def main() -> None:
    user, group = os.geteuid(), os.getegid()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(_NEW_USER | _NEW_NET):
        raise OSError(ctypes.get_errno(), "unshare")
    me = Path("/proc/self")
    (me / "setgroups").write_text("deny")
    (me / "uid_map").write_text(f"{user} {user} 1")
    (me / "gid_map").write_text(f"{group} {group} 1")
    with socket.socket() as any:
        fcntl.ioctl(any, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener, socket.socket(fileno=int(sys.argv[1])) as to:
        namespaces = [os.open(me / "ns" / name, os.O_RDONLY) for name in ("user", "net")]
        socket.send_fds(to, [b"made"], [*namespaces, listener.fileno()])


if __name__ == "__main__":
    try:
        main()
    except OSError as error:
        sys.exit(str(error))
