"""Limits of agents: bombs from an agent's shell are stopped, the turn ends with a clear error, others go on."""

import json
import os
from collections.abc import Generator
from typing import TypeAlias, TypeVar

import pytest
from tests.isolation.walled_daemon import NOBODY, WalledDaemon, interpreter_for, opened_folder, running
from tests.waiting import wait_until

from everyagent.model.decoding import UnknownData, decode_event
from everyagent.model.events import Envelope, Error, Event, TurnEnded
from everyagent.runtime.entry.main import pid_namespaces_have_limits
from everyagent.runtime.wall_probe import unavailable_reason

ReadEvent: TypeAlias = Event | Envelope[UnknownData]
D = TypeVar("D")
LEVELS = ["none"] if unavailable_reason() else ["namespace", "none"]
USERS = {"root": 0, "nobody": NOBODY} if os.geteuid() == 0 else {"user": os.geteuid()}
FLAGS = ("--session-memory", "400M", "--session-processes", "200", "--session-disk", "64M")
_PYTHON = "/usr/bin/env python3 -c"
BOMBS = {
    "fork": f"{_PYTHON} 'import os\nwhile True:\n  try: os.fork()\n  except OSError: continue\n#MARK'",
    "processes": "for i in $(seq 220); do sleep 600 & done; sleep 600; : MARK",
    "memory": f"{_PYTHON} 'import time\nheld=[bytearray(b\"x\"*(16<<20)) for _ in range(60)]\ntime.sleep(600)\n#MARK'",
    "disk": "for i in 1 2 3 4 5; do head -c 20000000 /dev/zero > file-$i; done; sleep 600; : MARK",
}


def stopped(bomb: str, level: str) -> bool:
    """Without a wall the kernel sets no limit on processes, and a fork bomb is faster than whoever ends them."""
    return bomb != "fork" or level != "none"


@pytest.fixture(scope="module", params=USERS)
def daemon(request: pytest.FixtureRequest) -> Generator[WalledDaemon]:
    user = USERS[request.param]
    if not interpreter_for(user)[0]:
        pytest.skip("there is no Python that this user may run")
    with opened_folder() as base, WalledDaemon(base / "here", user, *FLAGS).running() as running_daemon:
        yield running_daemon


def _turn(daemon: WalledDaemon, session: str, command: str) -> list[ReadEvent]:
    """The events of a turn in which the agent runs a command."""
    prompt = f"[tool name=bash command={json.dumps(command)}]"
    answer = daemon.call("POST", f"/sessions/{session}/messages/stream", {"message": prompt})
    assert answer.is_success, answer.text
    return [decode_event(line[5:].encode()) for line in answer.text.splitlines() if line.startswith("data:")]


def _all(events: list[ReadEvent], kind: type[D]) -> list[D]:
    return [event.data for event in events if isinstance(event.data, kind)]


@pytest.mark.parametrize(
    ("bomb", "level"), [(bomb, level) for bomb in BOMBS for level in LEVELS if stopped(bomb, level)]
)
def test_a_bomb_ends_its_turn_and_nothing_else(daemon: WalledDaemon, bomb: str, level: str) -> None:
    if bomb == "fork" and daemon.user == 0 and not pid_namespaces_have_limits():
        pytest.skip("this kernel sets no limit on the processes of root")
    limit = "processes" if bomb == "fork" else bomb
    mark = f"everyagent-bomb-{os.getpid()}-{level}-{bomb}"
    folder, beside = daemon.base / f"{level}-{bomb}", daemon.base / "work"
    folder.mkdir()
    os.chown(folder, daemon.user, daemon.user)
    other = daemon.session(beside, isolation=level)
    daemon.shell(other, "echo before")
    session = daemon.session(folder, isolation=level)

    events = _turn(daemon, session, BOMBS[bomb].replace("MARK", mark))

    (error,) = _all(events, Error)
    assert error.code == "limit_exceeded"
    assert f"`limits.{limit}`" in error.message
    assert f"--session-{limit}" in error.message
    (ended,) = _all(events, TurnEnded)
    assert ended.stop_reason == "error"
    wait_until(lambda: not running(mark), "nothing of the bomb is left")
    assert "after" in daemon.shell(other, "echo after")
    for file in folder.iterdir():
        file.unlink()
    assert "again" in daemon.shell(session, "echo again")


@pytest.mark.skipif("namespace" not in LEVELS, reason="no walls here")
def test_files_in_memory_count_as_memory(daemon: WalledDaemon) -> None:
    session = daemon.session(daemon.base / "work")
    fill = "for i in 1 2 3 4 5; do head -c 50000000 /dev/zero > /tmp/$i; head -c 50000000 /dev/zero > ~/$i; done"
    events = _turn(daemon, session, f"{fill}; sleep 600")
    (error,) = _all(events, Error)
    assert (error.code, "`limits.memory`" in error.message) == ("limit_exceeded", True)


def test_a_session_may_ask_for_less_but_not_for_more(daemon: WalledDaemon) -> None:
    folder = str(daemon.base / "work")
    limits = {"openFiles": 100, "cpu": 1}
    session = daemon.session(daemon.base / "work", limits=limits)
    assert daemon.call("GET", f"/sessions/{session}").json()["limits"] == limits
    assert daemon.shell(session, "ulimit -n; nproc").split() == ["100", "1"]
    refused = daemon.call("POST", "/sessions", {"agent": "mock", "directory": folder, "limits": {"memory": 1 << 40}})
    assert (refused.status_code, refused.json()["field"]) == (400, "limits")
    assert "--session-memory" in refused.json()["detail"]
