"""Attempts to get privileges."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, libc, run


@attempt
def become_root(facts: Facts) -> object:
    os.setuid(0)
    return "became root"


@attempt
def run_a_program_as_root(facts: Facts) -> object:
    shutil.copy("/bin/cat", "cat")
    os.chmod("cat", 0o6755)
    for program in ("su", "sudo", "mount", "passwd"):
        found = shutil.which(program)
        if found and subprocess.run([found, "--version"], capture_output=True, timeout=20).returncode == 99:
            return program
    effective = next(line for line in run("./cat", "/proc/self/status").splitlines() if line.startswith("CapEff"))
    return None if int(effective.split()[1], 16) == 0 else effective


@attempt
def have_a_capability(facts: Facts) -> object:
    status = Path("/proc/self/status").read_text()
    sets = {line.split()[0]: int(line.split()[1], 16) for line in status.splitlines() if line.startswith("Cap")}
    return {name: value for name, value in sets.items() if value} or None


@attempt
def load_a_kernel_module(facts: Facts) -> object:
    return called(libc.syscall(175, b"", 0, b"")) or None


@attempt
def load_a_kernel_program(facts: Facts) -> object:
    attributes = (ctypes.c_uint32 * 18)(2, 4, 4, 1)
    return called(libc.syscall(321, 0, ctypes.byref(attributes), 72)) or None


@attempt
def restart_the_machine(facts: Facts) -> object:
    return called(libc.reboot(0x89ABCDEF)) or None  # only turns Ctrl-Alt-Del on, where it is permitted
