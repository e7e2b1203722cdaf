"""System calls that Python has no function for."""

import ctypes
import os

OPEN_TREE, MOVE_MOUNT, OPENAT2, SETATTR, LANDLOCK_CREATE, LANDLOCK_RESTRICT = 428, 429, 437, 442, 444, 446
KEYCTL, PIVOT_ROOT, CAPSET = (219, 41, 91) if os.uname().machine == "aarch64" else (250, 155, 126)
#: The same numbers are flags of a mount and attributes of a mount.
READ_ONLY, NO_SUID, NO_DEVICES, NO_EXEC = 0x1, 0x2, 0x4, 0x8
NEW_USER, NEW_NET = 0x10000000, 0x40000000
CLOSE_ON_EXEC = 0o2000000
NO_NEW_PRIVILEGES = 38

libc = ctypes.CDLL(None, use_errno=True)
if hasattr(libc, "syscall"):
    libc.syscall.restype = ctypes.c_long


class Failure(Exception):
    """A step of the wall failed; the program was not started."""


def checked(result: int, what: str) -> int:
    if result < 0:
        raise Failure(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def write(path: str, text: str) -> None:
    """Write to a file of the kernel, which takes the text in one piece."""
    fd = os.open(path, os.O_WRONLY | CLOSE_ON_EXEC)
    os.write(fd, text.encode())
    os.close(fd)
