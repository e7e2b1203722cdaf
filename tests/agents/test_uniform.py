"""The same work looks the same on every agent: one session on each, whose events all tests read."""

from collections.abc import Generator
from pathlib import Path
from typing import cast

import httpx2
import pytest
from msgspec import Struct
from tests.agents.stage import daemon_of
from tests.managed.real_models import real_model
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.waiting import LIMIT_SECONDS, wait_until

from everyagent.testing.daemon import NO_TLS

Json = dict[str, object]


class Work(Struct, frozen=True):
    """The events of a session, the name of its agent, and the file that it read."""

    agent: str
    events: list[Json]
    file: str

    def items(self, kind: str, type: str = "item.completed") -> list[Json]:
        """Events of items of this kind."""
        of_type = [event for event in self.events if event["type"] == type]
        return [event for event in of_type if item_of(event)["kind"] == kind]


def item_of(event: Json) -> Json:
    return cast("Json", cast("Json", event["data"])["item"])


def parts_of(event: Json, type: str) -> list[Json]:
    return [part for part in cast("list[Json]", item_of(event)["content"]) if part["type"] == type]


@pytest.fixture(scope="module", params=sorted(SURROUNDINGS))
def work(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Generator[Work]:
    """A command that fails, a file that is read, and a reply with reasoning."""
    agent, folder = request.param, tmp_path_factory.mktemp("uniform")
    directory = folder / "workspace"
    directory.mkdir()
    file = directory / "notes.txt"
    file.write_text("Buy milk.\n")
    with (
        daemon_of(folder, **SURROUNDINGS[agent](folder)) as daemon,
        real_model(agent, daemon, folder) as model,
        httpx2.Client(base_url=daemon.url, headers=daemon.headers, timeout=LIMIT_SECONDS, verify=NO_TLS) as client,
    ):
        model.run("echo done; sh -c 'exit 3'", when="Work")
        model.read(str(file))
        model.say("It failed.", thought="Let me see.")
        body = {
            "agent": agent,
            "model": model.model,
            "directory": str(directory),
            "env": model.environment,
            "permissionMode": "bypass",
            "title": "Uniform",
        }
        path = f"/v1/sessions/{client.post('/v1/sessions', json=body).json()['sessionId']}"
        client.post(f"{path}/messages", json={"message": "Work"})
        wait_until(lambda: client.get(path).json()["status"] == "idle" or None)
        page = client.get(f"{path}/events", params={"limit": 10_000, "include_raw": True})
        client.post(f"{path}/terminate")
        yield Work(agent, page.json()["events"], str(file))


def test_a_failed_command_looks_the_same_on_every_agent(work: Work) -> None:
    started, completed = work.items("tool_result", "item.started"), work.items("tool_result")
    (part,) = parts_of(completed[0], "tool_result")
    assert (item_of(completed[0])["status"], part["is_error"], part["exit_code"]) == ("failed", True, 3)
    assert "done" in str(part["output"])
    # No agent reports the start of a result, and each names the call as the model did.
    assert [(event["source"], event["synthetic"]) for event in started] == [("daemon", True)] * 2
    assert str(part["call_id"]) in str(completed[0]["raw"])
    assert not str(part["call_id"]).startswith("prt_")


def test_a_file_that_is_read_is_a_file_ref_on_every_agent(work: Work) -> None:
    completed = work.items("tool_result")[1]
    (part,) = parts_of(completed, "file_ref")
    assert (Path(str(part["path"])).name, part["action"]) == (Path(work.file).name, "read")
    assert "Buy milk." in str(parts_of(completed, "tool_result")[0]["output"])


def test_reasoning_is_an_item_of_its_own_on_every_agent(work: Work) -> None:
    """With deltas that are its text, before the message that follows it."""
    spoken = [event for event in work.items("message") if item_of(event)["role"] == "assistant"]
    kinds = [[part["type"] for part in cast("list[Json]", item_of(event)["content"])] for event in spoken]
    assert [kind for kind in kinds if kind] == [["reasoning"], ["text"]]
    thought, said = [item_of(event) for event, kind in zip(spoken, kinds, strict=True) if kind]
    assert (thought["name"], said.get("name")) == ("reasoning", None)
    for item, kind, text in ((thought, "reasoning", "Let me see."), (said, "text", "It failed.")):
        data = [cast("Json", event["data"]) for event in work.events if event["type"] == "item.delta"]
        deltas = [delta for delta in data if delta["item_id"] == item["item_id"]]
        assert "".join(str(delta["delta"]) for delta in deltas) == text
        assert {(delta["kind"], delta["content_index"]) for delta in deltas} == {(kind, 0)}
    order = [item_of(event)["item_id"] for event in work.items("message", "item.started")]
    assert order.index(thought["item_id"]) < order.index(said["item_id"])
