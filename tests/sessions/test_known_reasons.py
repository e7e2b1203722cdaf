"""Failures with a known reason have their own error code and are not retried."""

from collections.abc import Awaitable, Callable

import pytest

from everyagent.agents.line_conversation import ProcessEnd
from everyagent.agents.mock import driver as mock_driver
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.errors import AgentNotLoggedIn
from everyagent.model.events import Error, TurnEnded

from .conftest import Opened, Talk

pytestmark = pytest.mark.anyio
Create = Callable[..., Awaitable[Talk]]


def _wrong_key(_: object) -> ProcessEnd:
    return ProcessEnd(code="auth")


async def test_an_agent_whose_stderr_names_the_reason_is_not_started_again(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mock_driver, "_ended", _wrong_key)
    async with opened() as sessions:
        talk = await create(sessions)
        events = await talk.say("[exit] still here")
        told = [event.data for event in events if isinstance(event.data, Error)]
        assert [(error.code, error.retry) for error in told] == [("auth", None)]
        assert [event.data.stop_reason for event in events if isinstance(event.data, TurnEnded)] == ["error"]


async def test_a_missing_login_has_an_error_code_of_its_own(
    opened: Opened, create: Create, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open(*_: object) -> None:
        raise AgentNotLoggedIn("Log in.")

    monkeypatch.setattr(MockAdapter, "open", open)
    async with opened() as sessions:
        talk = await create(sessions)
        events = await talk.say("hello")
        told = [event.data for event in events if isinstance(event.data, Error)]
        assert [(error.code, error.message) for error in told] == [("auth", "Log in.")]
