"""Failures of the model's API, and the events that report them."""

import pytest
from codex_stage import CodexSession
from tests.scripted.responses_replies import Response, fail, say

from everyagent.model.events import Error

FATAL = {
    "overloaded": (fail(503, "server_error", times=99), "overloaded"),
    "too many requests": (fail(429, "rate_limit_exceeded", times=99), "rate_limited"),
    "no more quota": (fail(429, "usage_limit_reached", times=99), "rate_limited"),
    "nonsense": (fail(400, "invalid_request_error", times=99), "internal"),
    "wrong key": (fail(401, "invalid_api_key", times=99), "auth"),
    "no such model": (fail(404, "model_not_found", times=99), "model_not_found"),
    "too long": (fail(200, "context_length_exceeded", times=99), "context_exceeded"),
    "quota in the stream": (fail(200, "insufficient_quota", times=99), "rate_limited"),
}


@pytest.mark.parametrize(("response", "code"), FATAL.values(), ids=FATAL)
def test_a_failure_that_stays_ends_the_turn_with_its_code(session: CodexSession, response: Response, code: str) -> None:
    session.model.script.add(response)
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    assert ended.error
    errors = [error for error in session.all(Error) if error.retry is None]
    assert [error.code for error in errors] == [code]


def test_a_session_goes_on_after_a_failure(session: CodexSession) -> None:
    session.model.script.add(fail(400, "invalid_request_error"), say("Better."))
    assert session.create().turn("Hello").stop_reason == "error"
    assert session.turn("Again").stop_reason == "end_turn"
    assert session.replies() == ["Better."]


def test_a_retry_is_reported_and_the_turn_goes_on(session: CodexSession) -> None:
    session.model.script.add(fail(429, "rate_limit_exceeded", headers={"retry-after": "1"}), say("Better."))
    assert session.create().turn("Hello").stop_reason == "end_turn"
    assert session.replies() == ["Better."]
    retries = [error.retry for error in session.all(Error)]
    assert [(retry.attempt, retry.max) for retry in retries if retry] == [(1, 2)]


def test_the_message_of_a_cut_stream_fails_and_is_repeated(session: CodexSession) -> None:
    session.model.script.add(say("All of what there is to say.", cut=2), say("All of what there is to say."))
    assert session.create().turn("Hello").stop_reason == "end_turn"
    said = [item for item in session.items("message") if item.role == "assistant"]
    assert [item.status for item in said] == ["failed", "completed"]
    assert session.all(Error)[0].retry


def test_a_model_that_cannot_be_reached_ends_the_turn(session: CodexSession) -> None:
    session.configure(url="http://127.0.0.1:1/v1")
    assert session.create().turn("Hello").stop_reason == "error"
    assert session.all(Error)[-1].code == "network"


def test_a_missing_key_is_reported_with_a_remedy(session: CodexSession) -> None:
    session.create(env={"SCRIPTED_KEY": ""})
    assert session.turn("Hello").stop_reason == "error"
    last = session.all(Error)[-1]
    assert (last.code, "agents login codex" in last.message) == ("auth", True)


def test_without_a_login_a_turn_fails_at_once(session: CodexSession) -> None:
    """Codex itself would try five times, for minutes. The session works as soon as there is a login."""
    config = session.home / "config.toml"
    provider = config.read_text()
    config.write_text("")
    session.create()
    assert session.turn("Hello").stop_reason == "error"
    (error,) = session.all(Error)
    assert (error.code, error.retry) == ("auth", None)
    assert "agents login codex" in error.message
    assert session.model.requests == []
    config.write_text(provider)
    session.model.script.add(say("Here I am."))
    assert session.turn("And now?").stop_reason == "end_turn"


def test_a_configuration_that_codex_refuses_is_reported_with_its_message(session: CodexSession) -> None:
    session.configure('approval_policy = "untrusted"')
    assert session.create().turn("Hello").stop_reason == "error"
    assert "no longer supported" in session.all(Error)[-1].message
