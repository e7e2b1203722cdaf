"""Interrupts, crashes, resuming and closing of the mock agent."""

import os
from collections.abc import Callable
from pathlib import Path

import anyio
import pytest
from mock_stage import stage
from tests.agents.collecting_listener import CollectingListener
from tests.waiting import LIMIT_SECONDS

from everyagent.agents.adapter import NativeSession, Prompt
from everyagent.errors import AgentFailed
from everyagent.model.events import (
    Error,
    ItemDelta,
    ItemStarted,
    PermissionRequested,
    QuestionRequested,
    TurnEnded,
)


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


async def wait_for_pid(file: Path) -> int:
    with anyio.fail_after(LIMIT_SECONDS):
        while not (file.exists() and file.read_text().strip()):
            await anyio.sleep(0.01)
    return int(file.read_text())


async def wait_until_gone(pid: int) -> None:
    with anyio.fail_after(LIMIT_SECONDS):
        while alive(pid):
            await anyio.sleep(0.01)


def output_started(listener: CollectingListener) -> object:
    return [delta for delta in listener.all(ItemDelta) if delta.kind == "tool_output"] or None


STATES: dict[str, Callable[[CollectingListener], object]] = {
    "[slow]": lambda listener: len(listener.all(ItemDelta)) > 3 or None,
    "[hang]": lambda listener: True,
    "[ask]": lambda listener: listener.all(PermissionRequested) or None,
    "[ask] [diff]": lambda listener: len(listener.all(PermissionRequested)) == 2 or None,
    "[question]": lambda listener: listener.all(QuestionRequested) or None,
    "[tool command='echo on; sleep 600']": output_started,
    "[tool command='echo on; sleep 600 & sleep 600'] [ask]": output_started,
    "[retry times=100 delay_ms=100000]": lambda listener: listener.all(Error) or None,
    "[text words=10000 delay=0.01]": lambda listener: len(listener.all(ItemDelta)) > 3 or None,
    "[flood events=100000000]": lambda listener: len(listener.all(ItemDelta)) > 100 or None,
}


@pytest.mark.parametrize("prompt", STATES)
async def test_an_interrupt_ends_the_turn_in_any_state(tmp_path: Path, prompt: str) -> None:
    async with stage(tmp_path) as on:
        await on.say(f"{prompt} never said")
        await on.listener.until(lambda: STATES[prompt](on.listener))
        began = anyio.current_time()
        await on.conversation.interrupt()
        assert (await on.listener.next(TurnEnded)).stop_reason == "interrupted"
        assert anyio.current_time() - began < 5
        assert (await on.turn("still here")).stop_reason == "end_turn"
        assert on.listener.texts()[-1] == "still here"
        assert "never said" not in on.listener.texts()


async def test_an_interrupt_kills_the_running_command(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[tool command='echo $$ > pid; sleep 600']")
        pid = await wait_for_pid(tmp_path / "pid")
        await on.conversation.interrupt()
        await on.listener.next(TurnEnded)
        await wait_until_gone(pid)


async def test_an_interrupt_between_turns_changes_nothing(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.conversation.interrupt()
        assert (await on.turn("hi")).stop_reason == "end_turn"
        await on.conversation.interrupt()
        assert (await on.turn("hi")).stop_reason == "end_turn"


async def test_a_hang_that_ignores_interrupts_ends_with_the_process(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[hang deaf=true]")
        await on.conversation.interrupt()
        await on.conversation.steer(Prompt(item_id="i", text="hear?"))
        await on.listener.until(lambda: on.listener.texts() or None)
        assert on.listener.all(TurnEnded) == []
        await on.conversation.close()
        assert (await on.listener.death()).exit_code == 0


async def test_a_process_that_ignores_signals_is_killed(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("hi [hang stubborn=true]")
        await on.listener.until(lambda: on.listener.texts() or None)
        await on.conversation.close()
        assert (await on.listener.death()).signal == "SIGKILL"


async def test_a_steering_message_reaches_the_agent_during_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[slow]")
        await on.listener.next(ItemDelta)
        await on.conversation.steer(Prompt(item_id="i", text="faster"))
        await on.listener.until(lambda: "(steered: faster)" in on.listener.texts() or None)
        assert on.listener.all(TurnEnded) == []


async def test_a_crash_is_reported_once_with_exit_code_and_stderr(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[crash lines=200]")
        death = await on.listener.death()
        assert (death.expected, death.exit_code, death.signal) == (False, 3, None)
        assert death.stderr
        assert (death.stderr.truncated, death.stderr.total_lines) == (True, 200)
        assert death.message == "The mock agent ended with exit code 3: mock: crash as asked for, line 200"
        assert len(on.listener.all(ItemStarted)) == 1
        assert "".join(delta.delta for delta in on.listener.all(ItemDelta)) == "I do not feel so"
        with pytest.raises(AgentFailed):
            await on.say("anyone there?")


async def test_the_exit_directive_works_once_per_session(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        native = await on.native_id()
        await on.say("[exit] hello again")
        assert (await on.listener.death()).exit_code == 5
        assert on.listener.all(ItemStarted) == []
    async with stage(tmp_path, native_session_id=native) as on:
        await on.turn("[exit] hello again")
        assert on.listener.texts() == ["hello again"]


async def test_a_resumed_session_keeps_its_id_and_never_repeats_a_key(tmp_path: Path) -> None:
    keys: list[str] = []
    native: str | None = None
    for number in (1, 2, 3):
        async with stage(tmp_path, native_session_id=native) as on:
            native = native or await on.native_id()
            await on.turn("[whoami] [tool command=true]")
            assert on.listener.all(NativeSession) == [NativeSession(native)]
            assert f"turn: {number}\n" in on.listener.texts()[0]
            keys += [started.item.item_id for started in on.listener.all(ItemStarted)]
            await on.conversation.close()
            assert (await on.listener.death()).expected
    assert len(keys) == len(set(keys)) == 12


async def test_an_unknown_native_session_fails_with_a_clear_message(tmp_path: Path) -> None:
    async with stage(tmp_path, native_session_id="mock-nix") as on:
        death = await on.listener.death()
        assert (death.expected, death.exit_code) == (False, 4)
        assert "cannot resume: no session mock-nix" in (death.message or "")


async def test_close_kills_every_process_that_the_agent_started(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.turn("[tool command='setsid sh -c \"echo \\$\\$ > pid; exec sleep 600\" & sleep 0']")
        pid = await wait_for_pid(tmp_path / "pid")
        assert alive(pid)
        await on.conversation.close()
        assert not alive(pid)
        assert len(on.listener.deaths) == 1
        await on.conversation.close(force=True)


async def test_the_death_of_a_killed_process_has_its_signal(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        await on.say("[tool command='echo $PPID > pid; sleep 600']")
        os.kill(await wait_for_pid(tmp_path / "pid"), 9)
        death = await on.listener.death()
        assert (death.expected, death.exit_code, death.signal) == (False, None, "SIGKILL")


async def test_frames_to_the_agent_are_recorded_in_order_and_without_secrets(tmp_path: Path) -> None:
    async with stage(tmp_path, tools_url="http://127.0.0.1:1/", tools_token="s3cret", env={"KEY": "k3y"}) as on:
        await on.turn("hi")
        directions = [decoded.frame.direction for decoded in on.listener.frames]
        assert directions[0] == "to_agent"
        prompt = next(
            n for n, decoded in enumerate(on.listener.frames) if decoded.frame.body.startswith(b'{"type":"prompt"')
        )
        reply = next(
            n for n, decoded in enumerate(on.listener.frames) if decoded.frame.body.startswith(b'{"type":"mess')
        )
        assert prompt < reply
        said = b"".join(decoded.frame.body for decoded in on.listener.frames)
        assert b"s3cret" not in said
        assert b"k3y" not in said


async def test_a_missing_directory_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        async with stage(tmp_path, directory=tmp_path / "nowhere"):
            raise AssertionError
    assert raised.group_contains(AgentFailed, match="does not exist")


async def test_a_cancelled_task_group_ends_the_process_and_reports_its_death(tmp_path: Path) -> None:
    listeners: list[CollectingListener] = []
    with anyio.CancelScope() as scope:
        async with stage(tmp_path) as on:
            listeners.append(on.listener)
            await on.say("[tool command='echo $PPID > pid; sleep 600']")
            await wait_for_pid(tmp_path / "pid")
            scope.cancel()
            await anyio.sleep_forever()
    assert not alive(int((tmp_path / "pid").read_text()))
    assert [death.expected for death in listeners[0].deaths] == [True]
