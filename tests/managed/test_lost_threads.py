"""No session waits for a thread of its roster that was deleted, or that could not be read for a moment."""

import json
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from everyagent.clock import SystemClock
from everyagent.log.sqlite.log import SqliteLog
from everyagent.testing.daemon import DaemonProcess
from tests.managed.conftest import rebuilt
from tests.managed.raw import ASKING, TOOLSET, Raw, required
from tests.managed.test_restarts import allow, own, raw
from tests.managed.test_rosters import call, checked, coordinate, kinds, member, results, sessions_of_threads, threads
from tests.waiting import wait_until

__all__ = ["own", "raw"]  # fixtures

GONE = "The thread's session is gone."


def thread_at_work(raw: Raw) -> str:
    """The session of a thread that works until it is stopped."""
    wait_until(lambda: [each["status"] for each in sessions_of_threads(raw)] == ["running"])
    wait_until(lambda: [each["status"] for each in threads(raw)] == ["running"])
    return str(sessions_of_threads(raw)[0]["sessionId"])


def deleted(raw: Raw, session: str) -> None:
    assert raw.universal_answer("DELETE", f"/sessions/{session}").is_success


def goes_on(raw: Raw) -> None:
    """The session takes another message, and its events are in order."""
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    checked(raw)


def test_a_thread_that_is_deleted_at_work_is_terminated(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Helper", TOOLSET))
    call(raw, {"agent": "Helper", "message": "[slow seconds=600]"})
    deleted(raw, thread_at_work(raw))
    raw.wait_idle("end_turn")
    assert [each["status"] for each in threads(raw)] == ["terminated"]
    (result,) = results(raw)
    assert result["error"] in (GONE, "The thread was ended.")
    goes_on(raw)


def test_a_thread_that_is_deleted_while_it_asks_requires_nothing_any_more(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Careful", ASKING))
    call(raw, {"agent": "Careful", "message": "[tool command='echo asked']"})
    (asked,) = required(raw.wait_idle("requires_action"))
    (child,) = sessions_of_threads(raw)
    deleted(raw, str(child["sessionId"]))
    raw.wait_idle("end_turn")
    assert [each["status"] for each in threads(raw)] == ["terminated"]
    assert raw.answer("POST", f"{raw.path}/events", {"events": [allow(asked)]}).status_code == 400
    goes_on(raw)


def test_a_thread_that_is_deleted_at_rest_is_terminated(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Helper", TOOLSET))
    call(raw, {"agent": "Helper", "message": "Done."})
    raw.wait_idle("end_turn")
    (child,) = sessions_of_threads(raw)
    deleted(raw, str(child["sessionId"]))
    wait_until(lambda: [each["status"] for each in threads(raw)] == ["terminated"])
    goes_on(raw)


async def remove(daemon: DaemonProcess, session: str) -> None:
    """Deletes the session while the daemon is dead."""
    log = await SqliteLog.open(daemon.data_dir, SystemClock())
    await log.delete(session)
    await log.close()


async def test_a_thread_that_is_gone_after_a_restart_is_terminated(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Helper", TOOLSET))
    call(raw, {"agent": "Helper", "message": "[slow seconds=600]"})
    child = thread_at_work(raw)
    own.kill()
    await remove(own, child)
    own.start()
    raw.wait_idle("end_turn", "retries_exhausted")
    wait_until(lambda: [each["status"] for each in threads(raw)] == ["terminated"])
    goes_on(raw)


async def test_an_answer_to_a_thread_that_is_gone_after_a_restart_terminates_it(own: DaemonProcess, raw: Raw) -> None:
    coordinate(raw, member(raw, "Careful", ASKING))
    call(raw, {"agent": "Careful", "message": "[tool command='echo asked']"})
    (asked,) = required(raw.wait_idle("requires_action"))
    (child,) = sessions_of_threads(raw)
    own.kill()
    await remove(own, str(child["sessionId"]))
    own.start()
    assert raw.answer("POST", f"{raw.path}/events", {"events": [allow(asked)]}).status_code == 404
    raw.wait_idle("end_turn")
    assert [each["status"] for each in threads(raw)] == ["terminated"]
    goes_on(raw)


@contextmanager
def daemon_of(module: str, folder: Path) -> Generator[DaemonProcess]:
    daemon = DaemonProcess(folder / "data", "--default-agent", "mock", module=f"tests.managed.{module}")
    daemon.start()
    try:
        yield daemon
    finally:
        assert daemon.stop() == 0
    assert rebuilt(daemon)


def test_a_thread_is_reported_although_reads_of_the_log_fail(tmp_path: Path) -> None:
    with daemon_of("unreliable_reports", tmp_path) as daemon:
        raw = Raw(daemon)
        coordinate(raw, member(raw, "Careful", ASKING))
        call(raw, {"agent": "Careful", "message": "[tool command='echo one'] [tool command='echo two'] Ran."})
        while len(asked := required(raw.wait_idle("requires_action"))) < 2:
            continue
        raw.send(*(allow(each) for each in asked))
        raw.wait_idle("end_turn")
        assert results(raw)[0]["reply"] == "Ran."
        assert [each["status"] for each in threads(raw)] == ["idle"]
        assert kinds(checked(raw)).count("agent.thread_message_received") == 1
        assert "fails in this test" in daemon.output()
        raw.close()


def test_parallel_calls_begin_no_more_threads_than_may_work(tmp_path: Path) -> None:
    with daemon_of("crowded_rosters", tmp_path) as daemon:
        raw = Raw(daemon)
        coordinate(raw, member(raw, "Helper", TOOLSET))
        task = {"agent": "Helper", "message": "Done. [slow seconds=1]"}
        called = f"[custom name=call_agents input={json.dumps({'tasks': [task, task]})}]"
        raw.say(f"{called} {called}")
        raw.wait_idle("end_turn")
        assert len(threads(raw)) == 2
        assert [str(each.get("error"))[:19] for each in results(raw)].count("No more than 2 thre") == 2
        checked(raw)
        raw.close()
