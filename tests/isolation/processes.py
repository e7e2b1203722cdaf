"""Attempts to reach other processes."""

import os
import signal
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, libc, run


@attempt
def signal_the_daemon(facts: Facts) -> object:
    os.kill(int(facts["daemon"]), signal.SIGTERM)
    return "sent"


@attempt
def signal_another_process(facts: Facts) -> object:
    os.kill(int(facts["victim"]), signal.SIGKILL)
    return "sent"


@attempt
def see_the_daemon(facts: Facts) -> object:
    return Path("/proc", facts["daemon"]).exists() or None


@attempt
def see_the_victim_by_name(facts: Facts) -> object:
    return facts["victim_name"] in run("ps", "axww") or None


@attempt
def trace_the_daemon(facts: Facts) -> object:
    return called(libc.ptrace(16, int(facts["daemon"]), None, None)) or None


@attempt
def trace_init(facts: Facts) -> object:
    return called(libc.ptrace(16, 1, None, None)) or None


@attempt
def kill_init(facts: Facts) -> object:
    os.kill(1, signal.SIGKILL)
    return None  # the answer shows that the namespace is still there


@attempt
def read_the_memory_of_init(facts: Facts) -> object:
    return Path("/proc/1/mem").open("rb") and "opened"


@attempt
def read_the_environment_of_init(facts: Facts) -> object:
    return facts["planted"] in Path("/proc/1/environ").read_text() or None


@attempt
def open_the_descriptors_of_init(facts: Facts) -> object:
    return [os.open(f"/proc/1/fd/{name}", os.O_RDONLY) for name in os.listdir("/proc/1/fd")]


@attempt
def hold_the_daemon_by_descriptor(facts: Facts) -> object:
    return os.pidfd_open(int(facts["daemon"]))


@attempt
def change_the_daemons_priority(facts: Facts) -> object:
    os.setpriority(os.PRIO_PROCESS, int(facts["daemon"]), 19)
    return "changed"


@attempt
def change_the_daemons_limits(facts: Facts) -> object:
    import resource

    return resource.prlimit(int(facts["daemon"]), resource.RLIMIT_NOFILE)
