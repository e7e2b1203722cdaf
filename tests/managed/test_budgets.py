"""Budgets of sessions, prices, and the cost of requests and turns."""

from collections.abc import Generator
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import httpx2
import pytest
from msgspec.structs import replace

from everyagent.agents.adapter import Adapter, Catalog
from everyagent.agents.opencode import catalog as opencode
from everyagent.config import ConfigError, Settings, read_prices
from everyagent.errors import BadRequest
from everyagent.model.agents import Model
from everyagent.model.events import EventData, ModelResponded, SessionUpdated, TurnEnded, TurnStarted
from everyagent.model.prices import Price, Prices
from everyagent.model.usage import Usage
from everyagent.sessions.launch.known_costs import require_known_costs
from everyagent.sessions.machine.costs import Costs
from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.managed.raw import TOOLSET, Event, Raw

#: In cents. A word of the mock agent costs more than the first, a turn less than the second.
NEXT_TO_NOTHING, PLENTY = "0.000001", "100"
USAGE = Usage(input_tokens=1_000_000, output_tokens=100_000, cache_read_tokens=10_000_000)


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def budget(amount: str) -> Event:
    return {"type": "limit", "max_list_cost": {"amount": amount, "currency": "USD"}}


def cost(raw: Raw) -> float:
    usage = cast("dict[str, dict[str, str]]", raw.call("GET", raw.path)["usage"])
    return float(usage["list_cost"]["amount"])


def refused(daemon: DaemonProcess, path: str, body: object) -> str:
    url = f"{daemon.url}/anthropic/v1{path}"
    answer = httpx2.post(url, json=body, headers=daemon.headers, timeout=60, verify=NO_TLS)
    assert answer.status_code == 400, answer.text
    return str(answer.json()["error"]["message"])


def test_a_turn_is_stopped_by_the_request_that_reaches_the_budget(raw: Raw) -> None:
    raw.create(TOOLSET, budget=budget(NEXT_TO_NOTHING))
    raw.say("[hello] [slow seconds=600]")
    raw.wait_idle("budget_reached")
    kinds = [event["type"] for event in raw.events()]
    assert kinds[-2:] == ["session.usage", "session.status_idle"]
    assert cost(raw) > 0


def test_a_session_accepts_messages_again_after_its_budget_is_raised(raw: Raw, daemon: DaemonProcess) -> None:
    raw.create(TOOLSET, budget=budget(NEXT_TO_NOTHING))
    raw.say("[hello]")
    raw.wait_idle("budget_reached")
    message = {"type": "user.message", "content": [{"type": "text", "text": "[hello]"}]}
    assert "Raise `budget`" in refused(daemon, f"{raw.path}/events", {"events": [message]})
    spent = cost(raw)
    raw.call("POST", raw.path, {"budget": budget(PLENTY)})
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    assert cost(raw) > spent


def test_a_turn_within_the_budget_ends_normally(raw: Raw) -> None:
    raw.create(TOOLSET, budget=budget(PLENTY))
    raw.say('[hello] [tool command="echo hi"] [hello]')
    raw.wait_idle("end_turn")
    assert "session.usage" not in [event["type"] for event in raw.events()]


@pytest.mark.parametrize("amount", ["0", "0.000000", NEXT_TO_NOTHING])
def test_a_budget_that_is_already_spent_is_refused(raw: Raw, daemon: DaemonProcess, amount: str) -> None:
    raw.create(TOOLSET, budget=budget(PLENTY))
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    assert "more than that" in refused(daemon, raw.path, {"budget": budget(amount)})
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    made = raw.call("GET", raw.path)
    again = {"agent": cast("Event", made["agent"])["id"], "environment_id": made["environment_id"]}
    if float(amount) == 0:
        assert "more than that" in refused(daemon, "/sessions", {**again, "budget": budget(amount)})


@pytest.mark.parametrize(("agent", "model"), [("codex", "gpt-5.5"), ("amp", "amp"), ("opencode", "some/model")])
def test_a_session_of_unknown_cost_cannot_have_a_budget(
    raw: Raw, daemon: DaemonProcess, agent: str, model: str
) -> None:
    raw.create(TOOLSET, agent=agent, model=model)
    why = refused(daemon, raw.path, {"budget": budget(PLENTY)})
    assert model in why
    assert "prices.json" in why
    made = raw.call("GET", raw.path)
    again = {
        "agent": cast("Event", made["agent"])["id"],
        "environment_id": made["environment_id"],
        "budget": budget(PLENTY),
    }
    assert model in refused(daemon, "/sessions", again)
    raw.call("DELETE", raw.path)


def test_agents_that_know_some_prices_report_the_cost_of_those_models_only() -> None:
    """OpenCode: `capabilities.cost` is set, and each model says whether its cost is reported."""
    agent = cast("Adapter", SimpleNamespace(name="opencode", title="OpenCode"))
    models = [Model(id="a/priced", costs=True), Model(id="a/free")]
    catalog = Catalog(models=models, default_model="a/free", agent_modes=[], permission_modes=[])
    require_known_costs(agent, catalog, "a/priced", Prices({}))
    require_known_costs(agent, replace(catalog, costs=True), "any", Prices({}))
    for unknown in ("a/free", "any", None):
        with pytest.raises(BadRequest):
            require_known_costs(agent, catalog, unknown, Prices({}))
    assert opencode.CAPABILITIES.cost


# -- prices -------------------------------------------------------------------------------------------------------


def test_cached_tokens_cost_as_much_as_input_without_a_price_of_their_own() -> None:
    assert Price(input=2, output=10).of(USAGE) == 2 + 1 + 20
    assert Price(input=2, output=10, cache_read=0.2).of(USAGE) == 2 + 1 + 2


def test_prices_are_read_from_the_data_folder_or_a_configured_file(tmp_path: Path) -> None:
    assert "m" not in read_prices(Settings(data_dir=tmp_path))
    (tmp_path / "prices.json").write_text('{"m": {"input": 1, "output": 2}}')
    assert "m" in read_prices(Settings(data_dir=tmp_path))
    with pytest.raises(ConfigError, match="does not exist"):
        read_prices(Settings(data_dir=tmp_path, prices=tmp_path / "missing.json"))


@pytest.mark.parametrize(
    "text", ["", "[]", '{"m": {"input": 1}}', '{"m": {"input": -1, "output": 2}}', '{"m": {"x": 1}}']
)
def test_the_error_about_invalid_prices_names_the_file(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    with pytest.raises(ConfigError, match=r"mine\.json"):
        read_prices(Settings(data_dir=tmp_path, prices=tmp_path / "mine.json"))


def with_costs(*events: EventData) -> list[EventData]:
    costs = Costs(Prices({"m": Price(input=2, output=10), "agent": Price(input=1, output=1)}), "agent", "m")
    return [costs.completed(each) for each in events]


TURN = TurnStarted(turn_id="t", input_item_ids=[])
ENDED = TurnEnded(turn_id="t", stop_reason="end_turn")
RESPONSE = ModelResponded(usage=Usage(input_tokens=1_000_000))


def test_the_cost_reported_by_the_agent_is_used() -> None:
    _, response, ended = with_costs(
        TURN, ModelResponded(usage=USAGE, cost_usd=0.5), TurnEnded(turn_id="t", stop_reason="end_turn", cost_usd=0.7)
    )
    assert isinstance(response, ModelResponded)
    assert isinstance(ended, TurnEnded)
    assert (response.cost_usd, response.priced, ended.cost_usd, ended.priced) == (0.5, False, 0.7, False)


def test_the_cost_of_a_turn_is_the_sum_of_its_requests() -> None:
    _, response, _, ended = with_costs(TURN, RESPONSE, RESPONSE, ENDED)
    assert isinstance(response, ModelResponded)
    assert isinstance(ended, TurnEnded)
    assert (response.cost_usd, response.priced) == (2, True)
    assert (ended.cost_usd, ended.priced, ended.usage) == (4, True, Usage(input_tokens=2_000_000))


def test_the_cost_of_a_turn_is_unknown_if_a_request_has_no_price() -> None:
    *_, ended = with_costs(TURN, RESPONSE, ModelResponded(usage=USAGE, model="unknown"), RESPONSE, ENDED)
    assert isinstance(ended, TurnEnded)
    assert ended.cost_usd is None


def test_a_turn_reported_as_a_whole_is_priced_by_the_sessions_model() -> None:
    whole = TurnEnded(turn_id="t", stop_reason="end_turn", usage=Usage(input_tokens=1_000_000))
    *_, ended = with_costs(SessionUpdated(model=None), TURN, whole)
    assert isinstance(ended, TurnEnded)
    assert (ended.cost_usd, ended.priced) == (1, True)
