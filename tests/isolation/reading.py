"""Attempts to read what belongs to the daemon, to other sessions and to the machine."""

import ctypes
import os
import stat
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, libc


@attempt
def read_the_token(facts: Facts) -> object:
    return Path(facts["data"], "token").read_text()


@attempt
def read_the_vault_key(facts: Facts) -> object:
    return len(Path(facts["data"], "vault.key").read_bytes())


@attempt
def read_the_database(facts: Facts) -> object:
    return len(Path(facts["data"], "everyagent.db").read_bytes())


@attempt
def list_the_data_folder(facts: Facts) -> object:
    return [name for name in os.listdir(facts["data"]) if name != "scratch"] or None


@attempt
def list_other_scratch_folders(facts: Facts) -> object:
    return [name for name in os.listdir(Path(facts["data"], "scratch")) if name != facts["number"]] or None


@attempt
def read_another_session(facts: Facts) -> object:
    return Path(facts["other"], "secret").read_text()


@attempt
def read_the_home_folder(facts: Facts) -> object:
    return Path(facts["home"], ".ssh", "id").read_text()


@attempt
def read_the_home_of_another_agent(facts: Facts) -> object:
    return Path(facts["home"], ".codex", "auth.json").read_text()


@attempt
def read_the_passwords_of_the_system(facts: Facts) -> object:
    return Path("/etc/shadow").read_text()


@attempt
def read_the_daemons_environment(facts: Facts) -> object:
    return facts["planted"] in Path("/proc", facts["daemon"], "environ").read_text() or None


@attempt
def find_the_daemons_secret_in_any_process(facts: Facts) -> object:
    for process in Path("/proc").iterdir():
        for name in ("environ", "cmdline"):
            try:
                if process.name.isdecimal() and facts["planted"] in (process / name).read_text(errors="replace"):
                    return str(process / name)
            except OSError:
                continue
    return None


@attempt
def read_through_the_root_of_init(facts: Facts) -> object:
    return Path(f"/proc/1/root{facts['data']}/token").read_text()


@attempt
def read_through_the_root_of_the_parent(facts: Facts) -> object:
    return Path(f"/proc/{os.getppid()}/root{facts['other']}/secret").read_text()


@attempt
def read_through_a_symbolic_link(facts: Facts) -> object:
    link = Path("token-link")
    link.symlink_to(Path(facts["data"], "token"))
    return link.read_text()


@attempt
def read_through_dots(facts: Facts) -> object:
    return Path("../other/secret").read_text()


@attempt
def read_through_a_hard_link(facts: Facts) -> object:
    os.link(Path(facts["other"], "secret"), "hard-link")
    return Path("hard-link").read_text()


@attempt
def read_by_file_handle(facts: Facts) -> object:
    handle = (ctypes.c_uint32 * 34)(8, 1, 2, 0)  # the root folder of the file system
    folder = os.open(".", os.O_RDONLY)
    return called(libc.open_by_handle_at(folder, ctypes.byref(handle), os.O_RDONLY)) or None


@attempt
def read_the_disk(facts: Facts) -> object:
    disks = [path for path in Path("/dev").iterdir() if stat.S_ISBLK(path.stat().st_mode)]
    return [str(disk) for disk in disks if disk.open("rb").read(1)] or None


@attempt
def read_the_kernels_memory(facts: Facts) -> object:
    return len(Path("/proc/kcore").open("rb").read(16))


@attempt
def read_the_hosts_temporary_files(facts: Facts) -> object:
    return Path(facts["temporary"]).read_text()
