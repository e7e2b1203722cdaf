"""Attempts to change mounts and to enter namespaces."""

import os
import stat
import sys
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, in_new_namespaces, libc, run


@attempt
def mount_a_file_system(facts: Facts) -> object:
    return called(libc.mount(b"tmpfs", b"/tmp", b"tmpfs", 0, None)) or None


@attempt
def bind_over_the_system(facts: Facts) -> object:
    return called(libc.mount(b"/tmp", b"/usr", None, 0x1000, None)) or None


@attempt
def make_the_system_writable(facts: Facts) -> object:
    return called(libc.mount(None, b"/usr", None, 0x20 | 0x1000, None)) or None


@attempt
def uncover_the_data_folder(facts: Facts) -> object:
    return called(libc.umount2(facts["data"].encode(), 2)) or None


@attempt
def uncover_the_data_folder_in_new_namespaces(facts: Facts) -> object:
    return in_new_namespaces(f"umount {facts['data']}; cat {facts['data']}/token")


@attempt
def unmount_everything_in_new_namespaces(facts: Facts) -> object:
    return in_new_namespaces(f"umount -l /tmp; cat {facts['other']}/secret")


@attempt
def make_the_system_writable_in_new_namespaces(facts: Facts) -> object:
    return in_new_namespaces("mount -o remount,bind,rw /usr; touch /usr/everyagent-attempt; echo done")


@attempt
def mount_processes_in_new_namespaces(facts: Facts) -> object:
    return in_new_namespaces(f"mkdir -p /tmp/p; mount -t proc proc /tmp/p; ls /tmp/p/{facts['daemon']}")


@attempt
def mount_the_disk_in_new_namespaces(facts: Facts) -> object:
    number = os.makedev(*map(int, facts["disk"].split(":")))
    os.mknod("/tmp/disk", 0o600 | stat.S_IFBLK, number)
    return Path("/tmp/disk").open("rb").read(1)


@attempt
def write_kernel_settings_in_new_namespaces(facts: Facts) -> object:
    return in_new_namespaces(
        "read v < /proc/sys/kernel/core_pattern; echo $v > /proc/sys/kernel/core_pattern; echo done"
    )


@attempt
def enter_the_namespaces_of_init(facts: Facts) -> object:
    return run(
        "nsenter", "--target", "1", "--user", "--mount", "--preserve-credentials", "cat", facts["data"] + "/token"
    )


@attempt
def enter_the_namespaces_of_the_daemon(facts: Facts) -> object:
    return run("nsenter", "--target", facts["daemon"], "--mount", "cat", facts["data"] + "/token")


@attempt
def change_the_root(facts: Facts) -> object:
    os.chroot("/tmp")
    return "changed"


@attempt
def escape_by_chroot_in_new_namespaces(facts: Facts) -> object:
    escape = (
        "import os; os.mkdir('/tmp/c'); r = os.open('/', 0); os.chroot('/tmp/c'); os.fchdir(r); "
        f"[os.chdir('..') for _ in range(64)]; os.chroot('.'); print(open('{facts['other']}/secret').read())"
    )
    return in_new_namespaces(f'{sys.executable} -c "{escape}"')
