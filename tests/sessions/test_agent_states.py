"""The overview of agents when one of them fails."""

from pathlib import Path

from anyio.abc import TaskGroup

from everyagent.agents.adapter import Adapter, AgentState
from everyagent.agents.mock.adapter import MockAdapter
from everyagent.agents.supervision import TaskSupervisor
from everyagent.config import Settings
from everyagent.daemon import sessions_of
from everyagent.sessions.limits import Limits


class Broken(MockAdapter):
    name = "broken"

    async def state(self) -> AgentState:
        raise RuntimeError("nobody thought of this")


def broken_and_mock(tasks: TaskGroup) -> list[Adapter]:
    return [Broken(TaskSupervisor(tasks)), MockAdapter(TaskSupervisor(tasks))]


async def test_an_agent_whose_state_fails_does_not_hide_the_others(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "data")
    async with sessions_of(settings, limits=Limits(), adapters=broken_and_mock) as sessions:
        broken, mock = await sessions.agents.infos()
        assert "nobody thought of this" in (broken.problem or "")
        assert mock.installed
