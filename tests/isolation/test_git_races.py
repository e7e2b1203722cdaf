"""The daemon's own git works on files that the agent changes meanwhile: it follows no link out of them."""

import os
import subprocess
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.isolation.walled_daemon import USERS, WalledDaemon, daemon_of
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.runtime.entry.calls import libc
from everyagent.runtime.wall_probe import unavailable_reason

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=f"no walls here: {unavailable_reason()}")
#: Git looks whether `d` is a folder before it works on the first two files, and not again before a third one. It needs
#: some time for a large one, in which the folder can be replaced.
_FILES = "echo x > d/a && truncate -s 150M d/b"
_OPENED = 0x20
_COMMITS = "-c user.name=a -c user.email=a@b"


@pytest.fixture(params=USERS)
def daemon(request: pytest.FixtureRequest) -> Generator[WalledDaemon]:
    with daemon_of(USERS[request.param]) as running_daemon:
        yield running_daemon


@pytest.fixture
def outside(daemon: WalledDaemon) -> Path:
    """A folder that no agent sees, with a file `secret` alone."""
    return daemon.base / "other"


@pytest.fixture
def repository(daemon: WalledDaemon) -> Path:
    folder = daemon.base / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one\n")
    git(folder, "add", ".")
    git(folder, *_COMMITS.split(), "commit", "-qm", "first")
    git(folder, "branch", "release")
    for path in (folder, *folder.rglob("*")):
        os.chown(path, daemon.user, daemon.user)
    return folder


def git(folder: Path, *words: str) -> str:
    settings = ("-c", "safe.directory=*")
    return subprocess.run(["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True).stdout


def asked(daemon: WalledDaemon, method: str, path: str, body: object = None) -> Any:
    answer = daemon.call(method, path, body)
    assert answer.is_success, answer.text
    return answer.json()


def worked(daemon: WalledDaemon, session: str, command: str) -> None:
    assert "done" in daemon.shell(session, f"{command} && echo done")


def begun(daemon: WalledDaemon, directory: Path, **fields: object) -> tuple[str, Path]:
    session = daemon.session(directory, isolation="namespace", permissionMode="bypass", **fields)
    return session, Path(asked(daemon, "GET", f"/sessions/{session}")["directory"])


@contextmanager
def replaced(folder: Path, target: Path, ready: Callable[[], object]) -> Generator[None]:
    """In the block, replaces the folder by a link as soon as it is `ready`, as an agent can. Fails if it never is."""
    done = threading.Event()

    def replace() -> None:
        ready()
        folder.rename(folder.with_name("moved"))
        folder.symlink_to(target)
        done.set()

    thread = threading.Thread(target=replace, daemon=True)
    thread.start()
    yield
    assert done.wait(LIMIT_SECONDS), f"git did not come to {folder}"
    thread.join()


@contextmanager
def replaced_when_read(folder: Path, target: Path) -> Generator[None]:
    """As `replaced`, when the large file in the folder is opened."""
    watch = libc.inotify_init()
    assert libc.inotify_add_watch(watch, os.fsencode(folder / "b"), _OPENED) >= 0
    try:
        with replaced(folder, target, lambda: os.read(watch, 4096)):
            yield
    finally:
        os.close(watch)


def replaced_when_written(folder: Path, target: Path) -> Any:
    """As `replaced`, when the first file in the folder is there."""
    return replaced(folder, target, lambda: wait_until((folder / "a").exists, f"{folder} has a file"))


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def holds(objects: Path, secret: Path) -> bool:
    """Whether an object has the content of a file."""
    name = git(secret.parent, "hash-object", "--no-filters", str(secret)).strip()
    return (objects / name[:2] / name[2:]).exists()


def test_the_state_of_a_worktree_has_no_files_of_others(daemon: WalledDaemon, repository: Path, outside: Path) -> None:
    session, folder = begun(daemon, repository, worktree=True)
    worked(daemon, session, f"mkdir d && {_FILES} && echo x > d/secret")
    with replaced_when_read(folder / "d", outside):
        state = asked(daemon, "GET", f"/sessions/{session}/worktree")
    assert "d/b" in state["files"]
    assert not holds(repository / ".git" / "objects", outside / "secret")


def test_a_checkpoint_has_no_files_of_others(daemon: WalledDaemon, outside: Path) -> None:
    work = daemon.base / "work"
    session, _ = begun(daemon, work, checkpoints=True)
    objects = daemon.data / "checkpoints"
    worked(daemon, session, f"mkdir -p d && {_FILES} && echo x > d/secret")
    wait_until(lambda: len(checkpoints(daemon, session)) == 2, "the first turn is kept")
    (work / "d" / "b").touch()
    with replaced_when_read(work / "d", outside):
        worked(daemon, session, "true")
    wait_until(lambda: len(checkpoints(daemon, session)) == 4, "the second turn is kept")
    assert not any(holds(each / "objects", outside / "secret") for each in objects.iterdir())


def test_a_rewind_writes_no_files_of_others(daemon: WalledDaemon, outside: Path) -> None:
    work = daemon.base / "work"
    session, _ = begun(daemon, work, checkpoints=True)
    worked(daemon, session, f"mkdir -p d && {_FILES} && echo x > d/planted")
    wait_until(lambda: len(checkpoints(daemon, session)) == 2, "the first turn is kept")
    worked(daemon, session, "rm -r d")
    wait_until(lambda: len(checkpoints(daemon, session)) == 4, "the second turn is kept")
    with replaced_when_written(work / "d", outside):
        sequence = checkpoints(daemon, session)[1]["sequence"]
        daemon.call("POST", f"/sessions/{session}/rewind", {"sequence": sequence, "restore": "files"})
    assert names(outside) == ["secret"]


def checkpoints(daemon: WalledDaemon, session: str) -> list[Any]:
    return asked(daemon, "GET", f"/sessions/{session}/checkpoints")["checkpoints"]


def test_a_merge_into_the_worktree_of_another_session_writes_nothing_beside_it(
    daemon: WalledDaemon, repository: Path, outside: Path
) -> None:
    """Also if the session that is merged has no wall itself."""
    theirs, folder = begun(daemon, repository, worktree=True)
    ours = daemon.session(repository, worktree=True, isolation="none", permissionMode="bypass")
    worked(daemon, ours, f"mkdir d && {_FILES} && echo x > d/planted")
    with replaced_when_written(folder / "d", outside):
        daemon.call("POST", f"/sessions/{ours}/worktree/merge", {"into": f"everyagent/{theirs}/work"})
    assert names(outside) == ["secret"]


def test_a_merge_writes_nothing_to_a_folder_that_an_agent_calls_its_checkout(
    daemon: WalledDaemon, repository: Path, outside: Path
) -> None:
    theirs, folder = begun(daemon, repository, worktree=True)
    own = (folder / ".git").read_text().removeprefix("gitdir: ").strip()
    worked(daemon, theirs, f"echo {outside}/.git > {own}/gitdir && echo ref: refs/heads/release > {own}/HEAD")
    ours, _ = begun(daemon, repository, worktree=True)
    worked(daemon, ours, "echo x > planted")
    asked(daemon, "POST", f"/sessions/{ours}/worktree/merge", {"into": "release"})
    assert git(repository, "show", "release:planted") == "x\n"
    assert names(outside) == ["secret"]


def test_the_history_of_a_branch_is_not_written_through_a_link(
    daemon: WalledDaemon, repository: Path, outside: Path
) -> None:
    session, _ = begun(daemon, repository, worktree=True)
    history = repository / ".git" / "logs" / "refs" / "heads" / "everyagent" / session / "work"
    worked(daemon, session, f"rm -f {history} && ln -s {outside}/secret {history} && echo x > new.txt")
    daemon.call("POST", f"/sessions/{session}/worktree/merge")
    assert git(repository, "show", "main:new.txt") == "x\n"
    assert (outside / "secret").read_text() == "a secret"
