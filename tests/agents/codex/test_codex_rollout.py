"""Codex's record of a thread, as we read it on."""

from pathlib import Path

import msgspec
import pytest

from everyagent.agents.codex.decode.rollout import EMPTY_TURNS, Rollout


def row(kind: str, **payload: object) -> bytes:
    return msgspec.json.encode({"timestamp": "t", "ordinal": 1, "type": kind, "payload": payload}) + b"\n"


def called(id: str) -> bytes:
    return row("response_item", type="function_call", call_id=id, name="exec_command", arguments="{}")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    record = tmp_path / "rollout.jsonl"
    record.write_bytes(called("before"))
    return record


def add(path: Path, text: bytes) -> None:
    with path.open("ab") as file:
        file.write(text)


def ids(rollout: Rollout, *told: str) -> list[str]:
    return [record.item.call_id for record in rollout.calls_without_item(lambda call: call in told)]


def test_only_new_rows_are_read_and_only_once(path: Path) -> None:
    rollout = Rollout(path)
    add(path, row("event_msg", type="task_started") + called("a") + called("b"))
    assert ids(rollout) == ["a", "b"]
    add(path, called("c"))
    assert ids(rollout) == ["c"]


def test_calls_with_an_item_are_left_out(path: Path) -> None:
    rollout = Rollout(path)
    add(path, called("a") + called("b"))
    assert ids(rollout, "a") == ["b"]


def test_a_row_that_is_half_written_is_read_when_it_is_whole(path: Path) -> None:
    rollout = Rollout(path)
    add(path, called("a") + called("b")[:20])
    assert ids(rollout) == ["a"]
    add(path, called("b")[20:])
    assert ids(rollout) == ["b"]


def test_a_record_that_grows_no_more_is_given_up_after_some_turns(path: Path) -> None:
    rollout = Rollout(path)
    for _ in range(EMPTY_TURNS - 1):
        assert ids(rollout) == []
    with pytest.raises(ValueError, match="nothing is added"):
        ids(rollout)


@pytest.mark.parametrize("line", [b"nonsense\n", b'{"type": 7}\n', b"[]\n", b'{"type":"response_item","payload":[]}\n'])
def test_a_file_that_is_no_record_is_refused(path: Path, line: bytes) -> None:
    rollout = Rollout(path)
    add(path, line)
    with pytest.raises(msgspec.DecodeError):
        ids(rollout)
