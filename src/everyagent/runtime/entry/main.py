"""A program that runs another program behind a wall: in its own user, mount, pid, ipc and uts namespaces.

`wall.py` makes its command line. Its argument is a descriptor, from which it reads pairs of a word and a value, then
`--` and the program with its arguments. The words:

* `level`: `namespace`, or `none` for a program that is only kept together with all of its descendants.
* `ro`, `rw`: binds a path. `tmp`: an empty writable folder. `hide`: an empty read-only folder. `link`: a symbolic link,
  its value is `PATH//TARGET`. They are applied in order, so a later one covers an earlier one.
* `variable`: `NAME=VALUE` of the program's environment. This program's own has only the marks of the reaper.
* `cwd`: the working directory. `cgroup`: a `cgroup.procs` file to join. `limit`: `NUMBER=VALUE`, a resource limit.
* `processes`: the most processes and threads. `size`: the most bytes in each `tmp`. `cpus`: the number of processors.
* `bound`: the id of the process with whose end, or at whose SIGUSR1, the program ends.
* `descriptor`: `NUMBER=OTHER`, an open descriptor that the program gets under another number.
* `network`: a socket, as the number of its descriptor, over which a listening socket of a network namespace is sent.
"""

import ctypes
import os
import sys

from everyagent.runtime.entry.calls import Failure, checked, libc, write
from everyagent.runtime.entry.mounts import build
from everyagent.runtime.entry.privileges import drop_privileges, restrict, unshare

_DEATH_SIGNAL, _DUMPABLE, _SUBREAPER = 1, 4, 36
_SIGINT, _SIGKILL, _SIGUSR1, _SIGPIPE, _SIGTERM, _SIGCHLD, _SIGXFSZ = 2, 9, 10, 13, 15, 17, 25
_BLOCK, _UNBLOCK = 0, 1
_NOT_FOUND, _SIGNALLED = 127, 128
#: Of -1000 to 1000; other programs have 0.
_FIRST_OUT = 500
#: The first kernel whose pid namespaces have a limit each, and the ids that such a limit does not count.
_PIDS_OF_NAMESPACE = (6, 14)
_RESERVED_PIDS = 300


def mask_signals(how: int) -> None:
    """Block or unblock all signals."""
    libc.sigprocmask(how, ctypes.byref((ctypes.c_uint64 * 16)(*[0xFFFFFFFFFFFFFFFF] * 16)), None)


def attend(main: int, reap_others: bool, bound: bool = False, first: bool = False) -> int:
    """Reap children and pass interrupts on until `main` has ended; returns its wait status.

    The `first` process of a container is the only one that gets a signal from outside, so it passes on SIGTERM, too.
    """
    passed = (1 << (_SIGINT - 1)) | (first << (_SIGTERM - 1))
    awaited = (ctypes.c_uint64 * 16)(passed | (1 << (_SIGCHLD - 1)) | (bound << (_SIGUSR1 - 1)))
    number = ctypes.c_int()
    while True:
        libc.sigwait(ctypes.byref(awaited), ctypes.byref(number))
        if number.value in (_SIGINT, _SIGTERM):
            os.kill(main, number.value)
            continue
        if number.value == _SIGUSR1:
            os.kill(main, _SIGKILL)
            continue
        while True:
            try:
                pid, status = os.waitpid(-1 if reap_others else main, os.WNOHANG)
            except ChildProcessError:
                return 0
            if pid == main:
                return status
            if pid == 0:
                break


def bind(bound: list[str]) -> None:
    """Get SIGUSR1 at the end of the parent, whose id is given."""
    for parent in bound:
        libc.prctl(_DEATH_SIGNAL, _SIGUSR1, 0, 0, 0)
        if os.getppid() != int(parent):
            os._exit(1)  # the parent died before this process would have noticed it


def run(argv: list[str], given: dict[str, list[str]]) -> None:
    """In the child: become the program."""
    for number in (_SIGPIPE, _SIGXFSZ):
        libc.signal(number, None)
    mask_signals(_UNBLOCK)
    try:
        os.chdir(given["cwd"][0])
        for limit in given.get("limit", ()):
            _limit(limit)
        for count in given.get("cpus", ()):
            _use_processors(int(count))
        for pair in given.get("descriptor", ()):
            number, other = map(int, pair.split("="))
            os.dup2(number, other)
        os.execvpe(argv[0], argv, variables(given))
    except OSError as error:
        os.write(2, f"everyagent: {argv[0]} could not be started: {error.strerror}\n".encode())
    os._exit(_NOT_FOUND)


def variables(given: dict[str, list[str]]) -> dict[str, str]:
    """The program's environment."""
    return dict(variable.split("=", 1) for variable in given.get("variable", ()))


def _limit(limit: str) -> None:
    number, value = limit.split("=")
    pair = (ctypes.c_uint64 * 2)(int(value), int(value))
    checked(libc.prlimit(0, int(number), ctypes.byref(pair), None), f"setting resource limit {number}")


def _use_processors(count: int) -> None:
    usable = sorted(os.sched_getaffinity(0))
    first = os.getppid() % len(usable)
    os.sched_setaffinity(0, [usable[(first + number) % len(usable)] for number in range(min(count, len(usable)))])


def prefer_for_memory() -> None:
    """If the machine runs out of memory, the kernel ends programs of agents before others."""
    with open("/proc/self/oom_score_adj", "rb", buffering=0) as file:
        now = int(file.read())
    if now < _FIRST_OUT:
        write("/proc/self/oom_score_adj", str(_FIRST_OUT))


def limit_processes(most: int) -> None:
    """Root's processes have no resource limit on their number, but their pid namespace may have one."""
    if pid_namespaces_have_limits():  # otherwise this would change the whole machine
        write("/proc/sys/kernel/pid_max", str(_RESERVED_PIDS + most))


def pid_namespaces_have_limits() -> bool:
    """Since Linux 6.14."""
    major, minor = os.uname().release.split(".")[:2]
    return (int(major), int(minor.partition("-")[0].partition("+")[0])) >= _PIDS_OF_NAMESPACE


def kill_children() -> None:
    """Ends everything that was started and left its parent: it became a child of this process."""
    own = str(os.getpid())
    while True:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                continue
        except ChildProcessError:
            return
        for name in os.listdir("/proc"):
            if name.isdecimal():
                try:
                    with open(f"/proc/{name}/stat", "rb", buffering=0) as file:
                        fields = file.read().rpartition(b")")[2].split()
                    if fields[1].decode() == own and fields[0] != b"Z":
                        os.kill(int(name), _SIGKILL)
                except OSError:
                    continue
        libc.poll(None, 0, 2)


def end_like(status: int) -> None:
    """End with the exit code or the signal of the program."""
    if status & 0x7F:
        signal = status & 0x7F
        libc.signal(signal, None)
        mask_signals(_UNBLOCK)
        os.kill(os.getpid(), signal)
        os._exit(_SIGNALLED + signal)  # the first process of a container gets no signal from itself
    os._exit(status >> 8)


def init(steps: list[tuple[str, str]], argv: list[str], given: dict[str, list[str]], report: int, alive: int) -> None:
    """The first process in the pid namespace: builds the wall, starts the program and reaps."""
    libc.prctl(_DEATH_SIGNAL, _SIGKILL, 0, 0, 0)
    os.set_blocking(alive, False)
    try:
        os.read(alive, 1)
        os._exit(1)  # the parent died before this process would have noticed it
    except BlockingIOError:
        os.close(alive)
    for most in given.get("processes", ()):
        if given["user"] == ["0"]:
            limit_processes(int(most))
    build(steps, given["user"] == ["0"], given.get("size", [""])[0], variables(given).get("HOME", "/"))
    restrict()
    for socket in given.get("network", ()):
        from everyagent.runtime.entry import network

        network.keep(int(socket))
    drop_privileges()
    program = os.fork()
    if program == 0:
        run(argv, given)
    libc.prctl(_DUMPABLE, 0, 0, 0, 0)
    for fd in (0, 1, 2):
        os.close(fd)
    status = attend(program, reap_others=True)
    os.write(report, b"%d" % status)
    os._exit(0)


def main() -> None:
    with open(int(sys.argv[1]), "rb", buffering=0) as file:
        words = [os.fsdecode(word) for word in file.read().split(b"\0")]
    cut = words.index("--")
    argv = words[cut + 1 :]
    steps: list[tuple[str, str]] = []
    given: dict[str, list[str]] = {}
    for word, value in zip(words[:cut:2], words[1:cut:2], strict=True):
        if word in ("ro", "rw", "tmp", "hide", "link"):
            steps.append((word, value))
        else:
            given.setdefault(word, []).append(value)
    for path in given.get("cgroup", ()):
        write(path, "0")
    prefer_for_memory()
    mask_signals(_BLOCK)
    if given["level"] == ["none"]:
        libc.prctl(_SUBREAPER, 1, 0, 0, 0)
        bound = given.get("bound", [])
        bind(bound)
        first = os.getpid() == 1  # of a container
        if first:
            restrict()
        child = os.fork()
        if child == 0:
            run(argv, given)
        if first:
            libc.prctl(_DUMPABLE, 0, 0, 0, 0)
        for fd in (0, 1, 2):
            os.close(fd)
        status = attend(child, reap_others=True, bound=bool(bound), first=first)
        kill_children()
        end_like(status)
    given["user"] = [str(os.getuid())]
    unshare()
    results, report = os.pipe()
    alive, held = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(results)
        os.close(held)
        try:
            init(steps, argv, given, report, alive)
        except (OSError, Failure) as error:
            os.write(2, f"everyagent: the wall could not be built: {error}\n".encode())
        os._exit(1)
    os.close(report)
    os.close(alive)
    for fd in (0, 1, 2):
        os.close(fd)
    for socket in given.get("network", ()):
        os.close(int(socket))
    restrict()
    drop_privileges()
    bind(given.get("bound", []))  # not before: a change of its user makes the kernel forget it
    os.chdir("/")
    status = attend(child, reap_others=False, bound="bound" in given)
    reported = os.read(results, 16)
    end_like(int(reported) if reported else status)
