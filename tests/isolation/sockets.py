"""Attempts to use sockets and shared memory of the machine."""

import os
import socket
import urllib.error
import urllib.request
from pathlib import Path

from tests.isolation.registry import Facts, attempt, called, libc


def connected(address: str) -> str:
    with socket.socket(socket.AF_UNIX) as there:
        there.settimeout(5)
        there.connect(address)
    return f"connected to {address!r}"


@attempt
def connect_to_a_socket_of_the_machine(facts: Facts) -> object:
    return connected(facts["socket"])


@attempt
def connect_to_an_abstract_socket(facts: Facts) -> object:
    return connected("\0" + facts["abstract"])


@attempt
def connect_to_the_container_engine(facts: Facts) -> object:
    for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/podman/podman.sock"):
        if Path(path).exists():
            return connected(path)
    return None


@attempt
def connect_to_the_message_bus(facts: Facts) -> object:
    return [str(path) for path in Path("/run").rglob("*") if path.is_socket()] or None


@attempt
def use_the_agent_of_ssh(facts: Facts) -> object:
    return os.environ.get("SSH_AUTH_SOCK")


@attempt
def attach_shared_memory_of_the_machine(facts: Facts) -> object:
    return called(libc.shmget(int(facts["memory"]), 0, 0)) or None


@attempt
def read_shared_files_of_the_machine(facts: Facts) -> object:
    return os.listdir("/dev/shm") or None


@attempt
def use_the_api_without_a_token(facts: Facts) -> object:
    try:
        return urllib.request.urlopen(facts["url"] + "/v1/sessions", timeout=20).status
    except urllib.error.HTTPError as error:
        return None if error.code == 401 else error.code
