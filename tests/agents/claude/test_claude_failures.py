"""Failures of the model's API and of the login, with the real Claude Code."""

from claude_stage import ClaudeSession
from tests.scripted.messages_replies import Reply, fail, say, text_block

from everyagent.model.events import Error


def test_a_retry_is_reported_and_the_turn_continues(session: ClaudeSession) -> None:
    session.model.script.add(fail(529, "overloaded_error"), say("At last."))
    assert session.create().turn("Hello").stop_reason == "end_turn"
    (error,) = session.all(Error)
    assert error.code == "overloaded"
    assert error.retry
    assert (error.retry.attempt, error.retry.max) == (1, 2)
    assert session.replies() == ["At last."]


def test_exhausted_retries_end_the_turn_and_keep_the_session(session: ClaudeSession) -> None:
    session.model.script.add(fail(529, "overloaded_error", times=3), say("Back."))
    ended = session.create().turn("Hello")
    assert ended.stop_reason == "error"
    assert ended.error
    assert [bool(error.retry) for error in session.all(Error)] == [True, True, False]
    assert session.all(Error)[-1].code == "overloaded"
    assert session.turn("Again").stop_reason == "end_turn"


def test_a_refused_key_is_an_auth_error_with_a_remedy(session: ClaudeSession) -> None:
    session.model.script.add(fail(401, "authentication_error", "invalid x-api-key", times=9))
    assert session.create(env={"CLAUDE_CODE_MAX_RETRIES": "1"}).turn("Hello").stop_reason == "error"
    error = session.all(Error)[-1]
    assert error.code == "auth"
    assert "ANTHROPIC_API_KEY" in error.message


def test_a_missing_login_is_an_auth_error_with_a_remedy(session: ClaudeSession) -> None:
    assert session.create(env={"ANTHROPIC_API_KEY": ""}).turn("Hello").stop_reason == "error"
    error = session.all(Error)[-1]
    assert error.code == "auth"
    assert "everyagent agents login claude" in error.message
    assert not [each for each in session.all(Error) if each.retry]


def test_an_unknown_model_is_a_model_not_found_error(session: ClaudeSession) -> None:
    session.model.script.add(fail(404, "not_found_error", "model: nope", times=9))
    assert session.create(model="claude-nope-1").turn("Hello").stop_reason == "error"
    assert session.all(Error)[-1].code == "model_not_found"


def test_an_api_that_cannot_be_reached_is_a_network_error(session: ClaudeSession) -> None:
    env = {"ANTHROPIC_BASE_URL": "http://127.0.0.1:9", "CLAUDE_CODE_MAX_RETRIES": "1"}
    assert session.create(env=env).turn("Hello").stop_reason == "error"
    assert {error.code for error in session.all(Error)} == {"network"}


def test_a_reply_cut_at_its_limit_ends_the_turn_with_max_tokens(session: ClaudeSession) -> None:
    cut = Reply(blocks=[text_block("As far as it goes")], stop_reason="max_tokens", times=9)
    session.model.script.add(cut)
    assert session.create().turn("Write a book").stop_reason == "max_tokens"
    assert set(session.replies()) == {"As far as it goes"}


def test_a_prompt_that_is_too_long_is_a_context_exceeded_error(session: ClaudeSession) -> None:
    session.model.script.add(fail(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum", times=9))
    assert session.create().turn("Hello").stop_reason == "error"
    assert session.all(Error)[-1].code == "context_exceeded"
