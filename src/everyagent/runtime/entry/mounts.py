"""The file system behind a wall, made of mounts in a new root."""

import ctypes
import os

from everyagent.runtime.entry.calls import (
    CLOSE_ON_EXEC,
    MOVE_MOUNT,
    NO_DEVICES,
    NO_EXEC,
    NO_SUID,
    OPEN_TREE,
    OPENAT2,
    PIVOT_ROOT,
    READ_ONLY,
    SETATTR,
    checked,
    libc,
)

_EMPTY_PATH, _RECURSIVE, _CLONE, _NO_SYMLINKS = 0x1000, 0x8000, 0x1, 0x04
_PRIVATE, _DETACH = 0x4000 | 0x40000, 0x2
#: What root could change in /proc without any capability.
_PROC_READ_ONLY = ("sys", "sysrq-trigger", "irq", "bus", "fs", "scsi", "acpi")
_DEVICES = ("null", "zero", "full", "random", "urandom", "tty")


def opened(path: str) -> int:
    """A descriptor of a path. No part of it may be a symbolic link: somebody may have put one there just now."""
    how = (ctypes.c_uint64 * 3)(os.O_PATH | CLOSE_ON_EXEC, 0, _NO_SYMLINKS)
    return checked(libc.syscall(OPENAT2, -100, os.fsencode(path), ctypes.byref(how), 24), path)


def tree(fd: int, attributes: int) -> int:
    """A detached copy of the mounts below a path."""
    copy = checked(
        libc.syscall(OPEN_TREE, fd, b"", _CLONE | CLOSE_ON_EXEC | _EMPTY_PATH | _RECURSIVE),
        "copying the mounts of a folder",
    )
    wanted = (ctypes.c_uint64 * 4)(attributes, 0, 0, 0)
    done = libc.syscall(SETATTR, copy, b"", _EMPTY_PATH | _RECURSIVE, ctypes.byref(wanted), 32)
    checked(done, "protecting a mount")
    return copy


def place(root: int, path: str, *, folder: bool) -> int:
    """A descriptor of the place for a mount in the new root; made if it is missing."""
    at = os.dup(root)
    *parents, name = path.strip("/").split("/")
    for part in parents:
        step = _folder(at, part)
        os.close(at)
        at = step
    if folder:
        return _folder(at, name) if name else at
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o600, dir_fd=at))
    except FileExistsError:
        pass
    return os.open(name, os.O_PATH | os.O_NOFOLLOW | CLOSE_ON_EXEC, dir_fd=at)


def _folder(at: int, name: str) -> int:
    try:
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | CLOSE_ON_EXEC, dir_fd=at)
    except FileNotFoundError:
        os.mkdir(name, 0o755, dir_fd=at)
        return os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_DIRECTORY | CLOSE_ON_EXEC, dir_fd=at)


def attach(copy: int, target: int, path: str) -> None:
    moved = libc.syscall(MOVE_MOUNT, copy, b"", target, b"", 0x04 | 0x40)
    checked(moved, f"mounting {path}")
    os.close(copy)
    os.close(target)


def copied(path: str, attributes: int) -> "tuple[int, bool]":
    """A detached copy of the mounts below a path, and whether it is a folder."""
    source = opened(path)
    folder = os.stat(source).st_mode & 0o170000 == 0o040000
    copy = tree(source, attributes | NO_SUID | NO_DEVICES)
    os.close(source)
    return copy, folder


def mount(kind: str, target: str, flags: int, options: str = "") -> None:
    done = libc.mount(kind.encode(), target.encode(), kind.encode(), flags, options.encode() or None)
    checked(done, f"mounting {kind} on {target}")


def empty(root: int, path: str, options: str = "mode=0755") -> None:
    target = place(root, path, folder=True)
    mount("tmpfs", f"/proc/self/fd/{target}", NO_SUID | NO_DEVICES, options)
    os.close(target)


def hide(root: int, path: str) -> None:
    """Cover a folder with an empty one, and a file with an empty one. `protect` comes later: mounts may go in it."""
    target = os.open(path.strip("/"), os.O_PATH | os.O_NOFOLLOW | CLOSE_ON_EXEC, dir_fd=root)
    if os.stat(target).st_mode & 0o170000 == 0o040000:
        os.close(target)
        empty(root, path, "mode=0755,size=64k")
    else:
        blank = os.open(".hidden", os.O_CREAT | os.O_RDWR | CLOSE_ON_EXEC, 0, dir_fd=root)
        attach(tree(blank, READ_ONLY), target, path)
        os.close(blank)


def protect(root: int, path: str) -> None:
    """Make the one mount at a path read-only."""
    at = os.open(path.strip("/") or ".", os.O_PATH | os.O_NOFOLLOW | CLOSE_ON_EXEC, dir_fd=root)
    wanted = (ctypes.c_uint64 * 4)(READ_ONLY | NO_SUID | NO_DEVICES, 0, 0, 0)
    checked(libc.syscall(SETATTR, at, b"", _EMPTY_PATH, ctypes.byref(wanted), 32), f"protecting {path}")
    os.close(at)


def build(steps: "list[tuple[str, str]]", root_user: bool, size: str, home: str) -> None:
    """The new root, from an empty file system. `size` limits each file system in memory, in bytes."""
    options = f"mode=0755,size={size}" if size else "mode=0755"
    checked(libc.mount(None, b"/", None, _PRIVATE, None), "making the mounts private")
    copies = {path: copied(path, READ_ONLY if word == "ro" else 0) for word, path in steps if word in ("ro", "rw")}
    base = "/tmp"
    mount("tmpfs", base, NO_SUID | NO_DEVICES, "mode=0755")
    root = os.open(base, os.O_PATH | os.O_DIRECTORY | CLOSE_ON_EXEC)
    for word, value in steps:
        if value in copies:
            copy, folder = copies[value]
            attach(copy, place(root, value, folder=folder), value)
        elif word == "link":
            _link(root, *value.split("//", 1))
        elif word == "tmp":
            empty(root, value, options)
        else:
            hide(root, value)
        if value == "/" and word in ("ro", "rw"):
            os.close(root)
            root = os.open(base, os.O_PATH | os.O_DIRECTORY | CLOSE_ON_EXEC)
    _devices(root, options)
    _processes(root, root_user)
    _passwd(root, home)
    for word, value in steps:
        if word == "hide":
            protect(root, value)
    os.chdir(base)
    checked(libc.syscall(PIVOT_ROOT, b".", b"."), "changing the root")
    checked(libc.umount2(b".", _DETACH), "leaving the old root")
    os.chdir("/")
    protect(os.open("/", os.O_PATH | CLOSE_ON_EXEC), "/")


def _link(root: int, path: str, target: str) -> None:
    *parents, name = path.strip("/").split("/")
    at = place(root, "/".join(parents), folder=True)
    try:
        os.symlink(target, name, dir_fd=at)
    except FileExistsError:
        pass
    os.close(at)


def _devices(root: int, options: str) -> None:
    empty(root, "/dev")
    for name in _DEVICES:
        source = os.open(f"/dev/{name}", os.O_PATH | CLOSE_ON_EXEC)
        attach(tree(source, NO_SUID), place(root, f"/dev/{name}", folder=False), name)
        os.close(source)
    empty(root, "/dev/shm", options)
    terminals = place(root, "/dev/pts", folder=True)
    mount("devpts", f"/proc/self/fd/{terminals}", NO_SUID | NO_EXEC, "newinstance,ptmxmode=0666,mode=0620")
    os.close(terminals)
    _link(root, "/dev/ptmx", "pts/ptmx")
    _link(root, "/dev/fd", "/proc/self/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        _link(root, f"/dev/{name}", f"/proc/self/fd/{number}")


def _processes(root: int, root_user: bool) -> None:
    target = place(root, "/proc", folder=True)
    mount("proc", f"/proc/self/fd/{target}", NO_SUID | NO_DEVICES | NO_EXEC)
    os.close(target)
    if root_user:
        for name in _PROC_READ_ONLY:
            try:
                source = os.open(f"proc/{name}", os.O_PATH | CLOSE_ON_EXEC, dir_fd=root)
            except FileNotFoundError:
                continue
            attach(tree(source, READ_ONLY), os.dup(source), name)
            os.close(source)


def _passwd(root: int, home: str) -> None:
    """Programs look up the name of their user."""
    uid = os.getuid()
    try:
        target = os.open("etc/passwd", os.O_PATH | os.O_NOFOLLOW | CLOSE_ON_EXEC, dir_fd=root)
        with open("/etc/passwd", "rb", buffering=0) as file:
            known = file.read()
    except OSError:
        return
    if b":x:%d:" % uid in known:
        return
    line = f"agent:x:{uid}:{os.getgid()}::{home}:/bin/sh\n".encode()
    fresh = os.open("passwd", os.O_CREAT | os.O_RDWR | os.O_EXCL | CLOSE_ON_EXEC, 0o644, dir_fd=root)
    os.write(fresh, known.rstrip(b"\n") + b"\n" + line)
    attach(tree(fresh, READ_ONLY), target, "/etc/passwd")
    os.unlink("passwd", dir_fd=root)
    os.close(fresh)
