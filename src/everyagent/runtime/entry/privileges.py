"""Namespaces and privileges of the process that enters a wall."""

import ctypes
import os

from everyagent.runtime.entry.calls import (
    CAPSET,
    KEYCTL,
    LANDLOCK_CREATE,
    LANDLOCK_RESTRICT,
    NEW_USER,
    NO_NEW_PRIVILEGES,
    checked,
    libc,
    write,
)

_NAMESPACES = NEW_USER | 0x00020000 | 0x20000000 | 0x08000000 | 0x04000000  # mount, pid, ipc, uts
_DROP_BOUNDING, _CAPABILITIES = 24, 64
#: The user id that an agent of root has behind its wall. As it is not 0, a sandbox of the agent can make namespaces.
INSIDE = 61000


def unshare() -> None:
    user, group = os.getuid(), os.getgid()
    if user == 0:
        os.setgroups([])
    checked(libc.unshare(_NAMESPACES), "creating namespaces")
    inside = user or INSIDE
    write("/proc/self/setgroups", "deny")
    write("/proc/self/uid_map", f"{inside} {user} 1")
    write("/proc/self/gid_map", f"{group or INSIDE} {group} 1")


def drop_privileges() -> None:
    libc.syscall(KEYCTL, 1, None)  # a new session keyring; systems without keyrings have nothing to protect
    for capability in range(_CAPABILITIES):
        libc.prctl(_DROP_BOUNDING, capability, 0, 0, 0)
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    checked(libc.syscall(CAPSET, ctypes.byref(header), ctypes.byref((ctypes.c_uint32 * 6)())), "dropping capabilities")


def restrict() -> None:
    """Give up new privileges and abstract sockets, which belong to the machine's network, not to its files.

    Kernels before 6.12 cannot close abstract sockets. Call it before processes are started that trace each other: one
    that is restricted cannot look into another that is not.
    """
    checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "giving up new privileges")
    attributes = (ctypes.c_uint64 * 3)(0, 0, 1)
    rules = libc.syscall(LANDLOCK_CREATE, ctypes.byref(attributes), 24, 0)
    if rules >= 0:
        checked(libc.syscall(LANDLOCK_RESTRICT, rules, 0), "closing abstract sockets")
        os.close(rules)
