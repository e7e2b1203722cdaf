"""The network namespace of an agent's commands, behind its wall. Loaded only for sessions with allowed hosts."""

import fcntl
import os
import socket
import struct

from everyagent.runtime.entry.calls import NEW_NET, NEW_USER, NO_NEW_PRIVILEGES, Failure, checked, libc, write

#: The port of the proxy. No other program listens in the namespace yet.
PROXY_PORT = 61080
_SET_FLAGS, _UP_AND_RUNNING = 0x8914, 0x1 | 0x40


def keep(descriptor: int) -> None:
    """A process that keeps a network namespace for commands, with only a loopback device. Its pid is 2."""
    read_end, write_end = os.pipe()
    if os.fork() == 0:
        try:
            user, group = os.getuid(), os.getgid()
            checked(libc.unshare(NEW_USER | NEW_NET), "creating a network namespace")
            write("/proc/self/setgroups", "deny")
            write("/proc/self/uid_map", f"{user} {user} 1")
            write("/proc/self/gid_map", f"{group} {group} 1")
            with socket.socket() as any:
                fcntl.ioctl(any, _SET_FLAGS, struct.pack("16sh22x", b"lo", _UP_AND_RUNNING))
            listener = socket.create_server(("127.0.0.1", PROXY_PORT), backlog=128)
            with socket.socket(fileno=descriptor) as to:
                socket.send_fds(to, [b"1"], [listener.fileno()])
            listener.close()
            for fd in (0, 1, 2):
                os.close(fd)
            os.write(write_end, b"1")
            os.close(write_end)
            os.close(read_end)
            libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
            while True:
                libc.pause()
        except (OSError, Failure) as error:
            os.write(2, f"everyagent: {error}\n".encode())
        os._exit(1)
    os.close(write_end)
    os.close(descriptor)
    if os.read(read_end, 1) != b"1":
        raise Failure("the network namespace for commands could not be created")
    os.close(read_end)
