"""Attempts of an agent to get out of its wall, with a daemon of root and of another user."""

import os
from collections.abc import Generator

import pytest
from tests.isolation.attempts import ATTEMPTS
from tests.isolation.walled_daemon import USERS, WalledDaemon, daemon_of, running
from tests.waiting import wait_until

from everyagent.runtime.wall_probe import unavailable_reason

pytestmark = pytest.mark.skipif(unavailable_reason() is not None, reason=f"no walls here: {unavailable_reason()}")


@pytest.fixture(scope="module", params=USERS)
def daemon(request: pytest.FixtureRequest) -> Generator[WalledDaemon]:
    with daemon_of(USERS[request.param]) as running_daemon:
        yield running_daemon


@pytest.fixture(scope="module")
def results(daemon: WalledDaemon) -> dict[str, str | None]:
    return daemon.attempts(daemon.base / "work")


@pytest.mark.parametrize("name", ATTEMPTS)
def test_an_attempt_is_blocked(name: str, results: dict[str, str | None]) -> None:
    assert results[name] is None


def test_nothing_outside_has_changed(daemon: WalledDaemon, results: dict[str, str | None]) -> None:
    assert len(results) >= 60
    daemon.untouched()


def test_the_data_folder_is_covered_in_a_session_around_it(daemon: WalledDaemon) -> None:
    names = [name for name in ATTEMPTS if "token" in name or "data" in name or "vault" in name or "root_of" in name]
    names = [name for name in names if "parent" not in name]
    found = daemon.attempts(daemon.base, (*names, "read_the_database", "list_other_scratch_folders"))
    assert len(found) >= 10
    assert {name for name, how in found.items() if how is not None} == set()


def test_a_daemonised_child_with_an_empty_environment_ends_with_its_session(daemon: WalledDaemon) -> None:
    """In each level: with `none` only the parent links are left to find it."""
    for level in ("namespace", "none"):
        mark = f"everyagent-leftover-{os.getpid()}-{level}"
        session = daemon.session(daemon.base / "work", isolation=level)
        daemon.shell(session, f"(env -i setsid sh -c '(sleep 600; : {mark}) &' &) ; echo started")
        wait_until(lambda mark=mark: bool(running(mark)), "the child runs")
        assert daemon.call("POST", f"/sessions/{session}/terminate").is_success
        wait_until(lambda mark=mark: not running(mark), "the child has ended")


def test_variables_of_a_session_take_effect_only_behind_the_wall(daemon: WalledDaemon) -> None:
    """The dynamic loader of every process that has these variables writes to the file that they name."""
    work = daemon.base / "work"
    loaded = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(work / "loaded")}
    daemon.shell(daemon.session(work, env=loaded), "true")
    assert list(work.glob("loaded.*")), "the variables reach the agent"
    outside = {"LD_DEBUG": "libs", "LD_DEBUG_OUTPUT": str(daemon.data / "loaded")}
    daemon.shell(daemon.session(work, env=outside), "true")
    assert not list(daemon.data.glob("loaded.*"))


def test_files_that_a_session_names_are_not_the_daemons(daemon: WalledDaemon) -> None:
    """Neither in a session of the owner nor in one of an API key, which may name its own files only."""
    work, secrets = daemon.base / "work", [daemon.data / "vault.key", daemon.data / "token"]
    env = {"KEY": str(secrets[0]), "TOKEN_FILE": str(secrets[1]), "PATH": f"{daemon.data}:{os.environ['PATH']}"}
    server = {"type": "local", "command": ["/usr/bin/env", *map(str, secrets)]}
    session = daemon.session(work, env=env, mcp={"server": server})
    for secret in secrets:
        assert secret.exists()
        assert daemon.shell(session, f"cat {secret} >/dev/null 2>&1 && echo seen || echo absent").strip() == "absent"


def test_without_a_wall_attempts_succeed(daemon: WalledDaemon) -> None:
    """So the attempts are able to succeed."""
    names = ("read_the_token", "read_the_vault_key", "read_another_session", "see_the_daemon", "read_through_dots")
    found = daemon.attempts(daemon.base / "work", names, isolation="none")
    assert {name for name, how in found.items() if how is None} == set()


def test_a_session_shows_its_level(daemon: WalledDaemon) -> None:
    for asked, level in ((None, "namespace"), ("auto", "namespace"), ("none", "none")):
        session = daemon.session(daemon.base / "work", **({"isolation": asked} if asked else {}))
        assert daemon.call("GET", f"/sessions/{session}").json()["isolation"] == level
    refused = daemon.call("POST", "/sessions", {"agent": "mock", "isolation": "container"})
    assert (refused.status_code, refused.json()["field"]) == (400, "isolation")
    agents = daemon.call("GET", "/agents").json()["agents"]
    assert {(agent["isolation"], *agent["isolations"]) for agent in agents} == {("namespace", "none", "namespace")}
