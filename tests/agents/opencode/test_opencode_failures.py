"""Failures of the model's API, and the events that report them."""

import os
from pathlib import Path

import anyio
import msgspec
import pytest
from opencode_stage import OpencodeSession, config
from tests.agents.collecting_listener import CollectingListener
from tests.scripted.chat_replies import Completion, call, fail, run, say
from tests.scripted.chat_server import ChatServer

from everyagent.agents.adapter import Launch, Prompt
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.opencode import program
from everyagent.agents.opencode.adapter import OpencodeAdapter
from everyagent.agents.opencode.decode import failures
from everyagent.agents.opencode.decode.failures import RETRY_LIMIT
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.events import Error, TurnEnded

SOON = {"retry-after-ms": "20"}
FATAL = {
    "nonsense": (fail(400, "invalid_request_error"), "internal"),
    "wrong key": (fail(401, "invalid_api_key"), "auth"),
    "no such model": (fail(404, "model_not_found"), "model_not_found"),
}


@pytest.mark.parametrize(("answer", "code"), FATAL.values(), ids=FATAL)
def test_a_failure_that_stays_ends_the_turn_once_with_its_code(
    session: OpencodeSession, answer: Completion, code: str
) -> None:
    session.model.script.add(answer, say("Better."))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    assert ended.error
    assert [error.code for error in session.errors()] == [code]
    assert session.turn("Again").stop_reason == "end_turn"
    assert session.replies() == ["Better."]


LOGGED_OUT = {
    "no provider": ({"enabled_providers": ["anthropic"]}, "auth"),
    "model of a provider": ({"model": "anthropic/claude-sonnet-4-5"}, "model_not_found"),
}


@pytest.mark.parametrize(("settings", "code"), LOGGED_OUT.values(), ids=LOGGED_OUT)
def test_a_missing_login_ends_the_turn_without_retries_and_names_the_command(
    alone: OpencodeSession, settings: dict[str, object], code: str
) -> None:
    alone.create(env={"OPENCODE_CONFIG_CONTENT": msgspec.json.encode(settings).decode()})
    assert alone.turn("Hello").stop_reason == "error"
    (error,) = alone.errors()
    assert (error.code, error.retry) == (code, None)
    assert "everyagent agents login opencode" in error.message


def test_a_retry_is_reported_and_the_turn_goes_on(session: OpencodeSession) -> None:
    session.model.script.add(fail(500, "server_error", times=2, headers=SOON), say("Better."))
    assert session.create().turn("Hello").stop_reason == "end_turn"
    assert session.replies() == ["Better."]
    retries = [error.retry for error in session.errors()]
    assert [(retry.attempt, retry.max) for retry in retries if retry] == [(1, RETRY_LIMIT), (2, RETRY_LIMIT)]


def test_retries_without_end_are_ended(session: OpencodeSession) -> None:
    for_ever = fail(500, "server_error", when="Hello", times=99, headers=SOON)
    session.model.script.add(say("Back.", when="Again"), for_ever)
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    *retried, last = session.errors()
    assert [error.retry and error.retry.attempt for error in retried] == list(range(1, RETRY_LIMIT + 1))
    assert last.retry is None
    assert session.turn("Again").stop_reason == "end_turn"


async def test_a_program_that_tries_more_often_than_it_may_is_stopped(
    opencode_program: str, scripted: ChatServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(failures, "RETRY_LIMIT", 2)
    for_ever = fail(500, "server_error", when="Hello", times=99, headers=SOON)
    scripted.script.add(say("Back.", when="Again"), for_ever)
    content = msgspec.json.encode(config(scripted.url, snapshot=False)).decode()
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), program.BINARY_VARIABLE: opencode_program}
    launch = Launch(
        session_id="s",
        directory=tmp_path,
        scratch=tmp_path / "scratch",
        permission_mode="default",
        agent_mode="build",
        title="Retries",
        env={"OPENCODE_CONFIG_CONTENT": content},
    )
    listener = CollectingListener()
    async with anyio.create_task_group() as tasks:
        adapter = OpencodeAdapter(AdapterContext(TaskSupervisor(tasks), tmp_path / "agents", environment=environment))
        try:
            conversation = await adapter.open(launch, listener)
            await conversation.prompt(Prompt(item_id="itm_1", text="Hello"))
            ended = await listener.next(TurnEnded)
            assert ended.stop_reason == "error"
            assert [error.retry and error.retry.attempt for error in listener.all(Error)] == [1, 2, None]
            await conversation.prompt(Prompt(item_id="itm_2", text="Again"))
            assert (await listener.next(TurnEnded, 2)).stop_reason == "end_turn"
        finally:
            await adapter.close()


def test_a_wait_of_hours_is_not_waited_for(session: OpencodeSession) -> None:
    hours = {"retry-after": "7200"}
    session.model.script.add(fail(429, "rate_limit_exceeded", when="Hello", times=99, headers=hours))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    assert len(session.errors()) == 1


def test_the_message_of_a_cut_stream_fails_and_is_repeated(session: OpencodeSession) -> None:
    cut = say("All of what there is to say.", held=2, cut=2)
    session.model.script.add(cut, say("All of what there is to say."))
    session.create().send("Hello")
    session.until_output("All of")
    cut.release.set()
    assert session.next(TurnEnded).stop_reason == "end_turn"
    said = [item for item in session.items("message") if item.role == "assistant"]
    assert [item.status for item in said] == ["failed", "completed"]
    assert session.replies()[-1] == "All of what there is to say."
    assert session.errors()[0].retry


def test_an_answer_cut_by_its_limit_ends_with_max_tokens(session: OpencodeSession) -> None:
    session.model.script.add(say("Too long to", finish="length"))
    assert session.create().turn("Hello").stop_reason == "max_tokens"


def test_a_command_that_fails_is_seen_to_fail(session: OpencodeSession) -> None:
    session.model.script.add(run("echo broken; exit 3"), say("It failed."))
    session.create(permissionMode="bypass").turn("Run it")
    (result,) = session.items("tool_result")
    assert result.status == "failed"
    assert "exit_code=3" in str(result.content[0])


def test_a_tool_that_is_not_there_is_seen_to_fail(session: OpencodeSession) -> None:
    session.model.script.add(call("nosuchtool", {"x": 1}), call("bash", "{not json"), say("Then not."))
    session.create(permissionMode="bypass").turn("Use it")
    assert [item.name for item in session.items("tool_call")] == ["nosuchtool", "bash"]
    assert [item.status for item in session.items("tool_result")] == ["failed", "failed"]


def test_a_full_context_is_compacted_and_tried_again(session: OpencodeSession) -> None:
    message = "This model's maximum context length is 100000 tokens. However, your messages resulted in 200000 tokens."
    session.model.script.add(fail(400, "context_length_exceeded", message, when="Hello"), say("Fits now."))
    assert session.create().turn("Hello").stop_reason == "end_turn"
    assert [error.code for error in session.errors()] == ["context_exceeded"]
    assert session.statuses("compaction")
    assert session.replies()[-1] == "Fits now."
