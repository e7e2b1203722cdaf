"""Attempts to change what belongs to the daemon, to other sessions and to the machine."""

import ctypes
import os
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, libc, written


@attempt
def write_the_token(facts: Facts) -> object:
    return written(facts["data"] + "/token") if Path(facts["data"], "token").exists() else None


@attempt
def write_another_session(facts: Facts) -> object:
    return written(facts["other"] + "/secret")


@attempt
def write_the_home_folder(facts: Facts) -> object:
    path = Path(facts["home"], ".bashrc")
    path.write_text("changed by the agent")  # its own empty home is writable; the test looks at the real one
    return None


@attempt
def write_a_system_program(facts: Facts) -> object:
    return written("/usr/bin/everyagent-attempt")


@attempt
def write_the_systems_settings(facts: Facts) -> object:
    return written("/etc/everyagent-attempt")


@attempt
def write_through_a_symbolic_link(facts: Facts) -> object:
    Path("other-link").symlink_to(facts["other"])
    return written("other-link/secret")


@attempt
def write_the_daemons_code(facts: Facts) -> object:
    return written(facts["package"] + "/attempt.py")


@attempt
def write_the_interpreter(facts: Facts) -> object:
    return written(facts["prefix"] + "/attempt")


@attempt
def replace_the_session_folder(facts: Facts) -> object:
    here = os.getcwd()
    os.rename(here, here + ".moved")
    return "renamed"


@attempt
def write_a_kernel_setting(facts: Facts) -> object:
    path = Path("/proc/sys/kernel/core_pattern")
    return path.write_text(path.read_text())


@attempt
def trigger_a_kernel_request(facts: Facts) -> object:
    return Path("/proc/sysrq-trigger").open("w") and "opened"


@attempt
def change_the_host_name(facts: Facts) -> object:
    return called(libc.sethostname(b"attempt", 7)) or None


@attempt
def set_the_clock(facts: Facts) -> object:
    return called(libc.clock_settime(0, ctypes.byref((ctypes.c_long * 2)(0, 0)))) or None
