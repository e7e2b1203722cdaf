"""Memory of running sessions: with a killed daemon, a deleted store, and a remote worker."""

import json
import shutil
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import cast
from uuid import uuid4

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.conftest import rebuilt
from tests.managed.raw import TOOLSET, WEATHER, Event, Raw, required
from tests.managed.test_work_queue import SELF_HOSTED, ask, key_of, queue_of, status, token_of, worker, works
from tests.waiting import wait_until

MOUNTS = Path("/mnt/memory")


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def store_of(raw: Raw, name: str = "Notes", **texts: str) -> str:
    """Create a store. Returns its path."""
    store = f"/memory_stores/{raw.call('POST', '/memory_stores', {'name': name})['id']}"
    for path, text in texts.items():
        raw.call("POST", f"{store}/memories", {"path": f"/{path}.md", "content": text})
    return store


def resource(store: str, **more: str) -> Event:
    return {"type": "memory_store", "memory_store_id": store.rpartition("/")[2], **more}


def texts(raw: Raw, store: str) -> dict[str, str]:
    listed = cast("list[Event]", raw.call("GET", f"{store}/memories?view=full")["data"])
    return {str(each["path"]): str(each["content"]) for each in listed}


def problems(raw: Raw) -> list[str]:
    errors = [event["error"] for event in raw.events() if event["type"] == "session.error"]
    return [str(cast("Event", error)["message"]) for error in errors]


def test_a_memory_is_readable_before_the_turn_ends(raw: Raw) -> None:
    store = store_of(raw, a="1")
    raw.create(TOOLSET, WEATHER, resources=[resource(store)])
    raw.say('[tool command="echo 2 > mnt/memory/notes/a.md"] [custom name=get_weather input={}]')
    (use,) = required(raw.wait_idle("requires_action"))
    assert texts(raw, store) == {"/a.md": "2\n"}
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": []})
    raw.wait_idle("end_turn")


def test_a_memory_written_before_a_kill_is_stored(tmp_path: Path) -> None:
    own = DaemonProcess(tmp_path / "data", "--default-agent", "mock")
    own.start()
    raw = Raw(own)
    store = store_of(raw, a="1", b="2")
    raw.create(TOOLSET, WEATHER, resources=[resource(store)])
    raw.say('[tool command="cd mnt/memory/notes; echo 2 > a.md; rm b.md"] [custom name=get_weather input={}]')
    (use,) = required(raw.wait_idle("requires_action"))
    own.kill()
    own.start()
    wait_until(lambda: texts(raw, store) == {"/a.md": "2\n"}, "it is not there")
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": []})
    raw.wait_idle("end_turn")
    raw.say('[tool command="cat mnt/memory/notes/a.md"]')
    raw.wait_idle("end_turn")
    assert '"2\\n"' in json.dumps(raw.events())
    raw.close()
    own.stop()
    assert rebuilt(own)


@pytest.mark.parametrize("end", ["[error code=overloaded]", "[crash]", "[hello]"])
def test_a_memory_is_stored_however_the_turn_ends(raw: Raw, end: str) -> None:
    store = store_of(raw, a="1")
    raw.create(TOOLSET, resources=[resource(store)])
    raw.say(f'[tool command="echo 2 > mnt/memory/notes/a.md"] {end}')
    wait_until(lambda: raw.status() == "idle" and len(raw.events()) > 1, "it does not end")
    wait_until(lambda: texts(raw, store) == {"/a.md": "2\n"}, "it is not there")


def test_a_memory_can_be_updated_with_patch(raw: Raw) -> None:
    store = store_of(raw)
    made = raw.call("POST", f"{store}/memories", {"path": "/a.md", "content": "1"})
    changed = raw.call("PATCH", f"{store}/memories/{made['id']}?view=full", {"content": "2"})
    assert (changed["id"], changed["content"]) == (made["id"], "2")


def test_a_session_continues_after_its_store_is_deleted(raw: Raw) -> None:
    store = store_of(raw, a="1")
    raw.create(TOOLSET, WEATHER, resources=[resource(store)])
    raw.say('[tool command="echo 2 > mnt/memory/notes/a.md"] [custom name=get_weather input={}]')
    (use,) = required(raw.wait_idle("requires_action"))
    raw.call("DELETE", store)
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": []})
    wait_until(lambda: bool(problems(raw)), "no problem was reported")
    raw.say('[tool command="cat mnt/memory/notes/a.md"]')
    raw.wait_idle("end_turn")
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    assert problems(raw) == [
        "the memory store 'Notes' was deleted: the files in /mnt/memory/notes are not stored anywhere else"
    ]
    (kept,) = cast("list[Event]", raw.call("GET", raw.path)["resources"])
    assert kept["memory_store_id"] == store.rpartition("/")[2]
    raw.call("DELETE", raw.path)


def test_a_workers_key_gives_access_only_to_the_memory_of_its_session(raw: Raw, daemon: DaemonProcess) -> None:
    mine, rules, other = store_of(raw, a="1"), store_of(raw, b="2"), store_of(raw, c="3")
    raw.create(TOOLSET, environment=SELF_HOSTED, resources=[resource(mine), resource(rules, access="read_only")])
    raw.say('[custom name=bash input={"command":"uname"}]')
    wait_until(lambda: len(works(raw)) == 1, "no work")
    token = token_of(ask(daemon, key_of(raw), "GET", f"{queue_of(raw)}/poll").json())
    new = {"path": "/new.md", "content": "by the worker"}
    made = ask(daemon, token, "POST", f"{mine}/memories", new).json()
    (version,) = cast(
        "list[Event]", raw.call("GET", f"{mine}/memory_versions?session_id={raw.session_id}&view=full")["data"]
    )
    assert (version["memory_id"], version["content"]) == (made["id"], "by the worker")
    assert version["created_by"] == {"type": "session_actor", "session_id": raw.session_id}
    for path in (mine, f"{mine}/memories", f"{mine}/memory_versions", f"{rules}/memories"):
        assert status(daemon, token, "GET", path) == 200, path
    assert status(daemon, token, "DELETE", f"{mine}/memories/{made['id']}") == 200
    for method, path in (
        ("GET", "/memory_stores"),
        ("GET", f"{other}/memories"),
        ("POST", f"{rules}/memories"),
        ("POST", f"{mine}/archive"),
        ("DELETE", mine),
        ("POST", f"{mine}/memory_versions/{version['id']}/redact"),
        ("POST", mine),
    ):
        assert status(daemon, token, method, path) == 401, (method, path)
    shared = key_of(raw)
    assert status(daemon, shared, "GET", f"{mine}/memories") == 200, "workers may have only the environment's key"
    for method, path in (("GET", f"{other}/memories"), ("POST", f"{rules}/memories"), ("DELETE", mine)):
        assert status(daemon, shared, method, path) == 401, (method, path)


@pytest.fixture
def mounts() -> Generator[Path]:
    """The folder where the worker, on this machine, mounts the session's memory."""
    made = not MOUNTS.exists()
    try:
        MOUNTS.mkdir(exist_ok=True)
        probe = MOUNTS / uuid4().hex
        probe.mkdir()
        probe.rmdir()
    except OSError as error:
        pytest.skip(f"workers need {MOUNTS} to be writable: {error}")
    yield MOUNTS
    if made:
        with suppress(OSError):  # somebody else's memory is there, too
            MOUNTS.rmdir()


def test_the_real_worker_keeps_memory_in_sync(raw: Raw, daemon: DaemonProcess, tmp_path: Path, mounts: Path) -> None:
    name = f"notes-{uuid4().hex}"
    store = store_of(raw, name, a="from the store")
    raw.create(TOOLSET, environment=SELF_HOSTED, resources=[resource(store)])
    folder = mounts / name
    copy = json.dumps({"command": f"cat {folder}/a.md > seen.txt; echo from the worker > {folder}/b.md"})
    try:
        with worker(raw, daemon, tmp_path):
            raw.say(f"[custom name=bash input={copy}]")
            raw.wait_idle("end_turn")
            wait_until(lambda: len(texts(raw, store)) == 2, "the worker does not keep it")
            wait_until(lambda: works(raw)[0]["state"] == "stopped", "the worker does not leave")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert (tmp_path / "seen.txt").read_text() == "from the store"
    assert texts(raw, store) == {"/a.md": "from the store", "/b.md": "from the worker\n"}
    workspace = daemon.data_dir / "workspaces" / raw.session_id
    assert not (workspace / "mnt" / "memory").exists(), "the daemon has no copy of it"
