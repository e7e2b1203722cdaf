"""Sessions in containers of podman, with a daemon of a user other than root."""

import os
import pwd
import re
import shlex
import shutil
import signal
import subprocess
import uuid
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.isolation.attempts import ATTEMPTS
from tests.isolation.container_image import write_image
from tests.isolation.walled_daemon import WalledDaemon, interpreter_for, opened_folder, running
from tests.waiting import wait_until

#: Podman's choice, and one for machines with control groups of the old kind.
ENGINES = ("podman", "podman --runtime runc --cgroup-manager cgroupfs")
IMAGE = f"everyagent-test-{uuid.uuid4().hex[:12]}:1"
PAGE = Path(__file__).parents[2] / "docs" / "security.md"
TRIAL = ["--rm", "--network=host", "--ulimit=nofile=1024:1024", "--ulimit=nproc=1024:1024", IMAGE, "true"]


def _user() -> pwd.struct_passwd | None:
    """A user with user ids for containers: this one, unless it is root."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    names = [line.partition(":")[0] for line in Path("/etc/subuid").read_text().splitlines()]
    return next((user for name in names if (user := _known(name)) and interpreter_for(user.pw_uid)[0]), None)


def _known(name: str) -> pwd.struct_passwd | None:
    try:
        return pwd.getpwnam(name)
    except KeyError:
        return None


def podman(user: pwd.struct_passwd, engine: str, *words: str) -> subprocess.CompletedProcess[str]:
    other = user.pw_uid if user.pw_uid != os.geteuid() else None
    return subprocess.run(
        [*engine.split(), *words],
        env={"PATH": os.environ["PATH"], "HOME": user.pw_dir},
        cwd="/",
        user=other,
        group=other and user.pw_gid,
        extra_groups=None if other is None else [],
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def user() -> pwd.struct_passwd:
    if shutil.which("podman") is None or not Path("/etc/subuid").exists():
        pytest.skip("podman is not installed")
    found = _user()
    if found is None:
        pytest.skip("podman needs a user other than root that has a line in /etc/subuid and may run Python")
    return found


@pytest.fixture(scope="module")
def engine(user: pwd.struct_passwd) -> Generator[str]:
    with opened_folder() as folder:
        write_image(folder / "image.tar")
        imported = podman(user, "podman", "import", str(folder / "image.tar"), IMAGE)
    assert imported.returncode == 0, imported.stderr
    try:
        trials = {engine: podman(user, engine, "run", *TRIAL) for engine in ENGINES}
        working = [engine for engine, trial in trials.items() if trial.returncode == 0]
        if not working:
            pytest.skip(f"podman starts no container here: {[trial.stderr for trial in trials.values()]}")
        yield working[0]
    finally:
        podman(user, "podman", "rmi", "--force", IMAGE)


@pytest.fixture(scope="module")
def daemon(user: pwd.struct_passwd, engine: str) -> Generator[WalledDaemon]:
    flags = ("--container-image", IMAGE, "--container-engine", engine)
    with opened_folder() as base:
        daemon = WalledDaemon(base / "here", user.pw_uid, *flags, HOME=user.pw_dir)
        with daemon.running() as running_daemon:
            yield running_daemon


def test_the_examples_of_the_page_start_daemons(user: pwd.struct_passwd, engine: str) -> None:
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    pull, *serves = [shlex.split(line, comments=True) for line in block.splitlines()]
    image = pull[-1]
    for words, level in zip(serves, ("namespace", "container"), strict=True):
        assert words[:2] == ["everyagent", "serve"]
        flags = [IMAGE if word == image else word for word in words[2:]]
        with opened_folder() as base:
            daemon = WalledDaemon(base / "here", user.pw_uid, *flags, "--container-engine", engine, HOME=user.pw_dir)
            with daemon.running():
                mock = next(each for each in daemon.call("GET", "/agents").json()["agents"] if each["id"] == "mock")
                assert "container" in mock["isolations"]
                assert mock["isolation"] in (level, "none" if level == "namespace" else level)


def test_no_attempt_gets_out_of_a_container(daemon: WalledDaemon) -> None:
    found = daemon.attempts(daemon.base / "work", isolation="container")
    assert found.keys() == ATTEMPTS.keys()
    assert {name: how for name, how in found.items() if how is not None} == {}
    daemon.untouched()


def test_an_agent_works_in_its_container(daemon: WalledDaemon, user: pwd.struct_passwd, engine: str) -> None:
    """With the files of the image, the session's directory, its own variables, and nothing left after it."""
    work = daemon.base / "work"
    secret = uuid.uuid4().hex
    before = _containers(user, engine)
    session = daemon.session(work, isolation="container", env={"GIVEN": secret})
    assert daemon.call("GET", f"/sessions/{session}").json()["isolation"] == "container"
    told = daemon.shell(session, f'test -n "$GIVEN" && test ! -e /usr/share/doc && id -u && echo {secret[:8]} > made')
    assert told.split()[0] == str(user.pw_uid)
    assert (work / "made").read_text().strip() == secret[:8]
    assert not running(secret), "no process shows the value of a variable"
    assert daemon.call("POST", f"/sessions/{session}/terminate").is_success
    wait_until(lambda: _containers(user, engine) <= before, "the container is removed")


def test_a_container_ends_with_its_daemon(user: pwd.struct_passwd, engine: str) -> None:
    """Killed without warning. What podman keeps of it is removed by the next daemon."""
    flags = ("--container-image", IMAGE, "--container-engine", engine)
    mark = f"everyagent-left-{uuid.uuid4().hex}"
    before = _containers(user, engine)
    with opened_folder() as base:
        daemon = WalledDaemon(base / "here", user.pw_uid, *flags, HOME=user.pw_dir)
        with daemon.running():
            session = daemon.session(base / "here" / "work", isolation="container")
            daemon.shell(session, f"(setsid sh -c '(sleep 600; : {mark}) &' &) ; echo started")
            wait_until(lambda: bool(running(mark)), "the child runs")
            os.kill(daemon.pid, signal.SIGKILL)
            wait_until(lambda: not running(mark), "the child has ended")
        again = WalledDaemon(base / "again", user.pw_uid, *flags, HOME=user.pw_dir)
        with again.running():
            assert "container" in again.call("GET", "/agents").json()["agents"][0]["isolations"]
            assert _containers(user, engine) <= before


def test_what_a_container_cannot_do_is_refused(daemon: WalledDaemon) -> None:
    work = daemon.base / "work"
    limited = {"agent": "mock", "directory": str(work), "isolation": "container", "allowedHosts": []}
    refused = daemon.call("POST", "/sessions", limited)
    assert (refused.status_code, refused.json()["field"]) == (400, "allowedHosts")
    comma = work / "a,source=b"
    comma.mkdir()
    session = daemon.session(comma, isolation="container")
    answer = daemon.call("POST", f"/sessions/{session}/messages/stream", {"message": "hello"})
    assert "because of its comma" in answer.text


def _containers(user: pwd.struct_passwd, engine: str) -> set[str]:
    """The ids of all containers of this test that podman knows."""
    return set(podman(user, engine, "ps", "--all", "--quiet", f"--filter=ancestor={IMAGE}").stdout.split())
