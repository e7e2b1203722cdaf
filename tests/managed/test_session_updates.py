"""Updates of sessions and agents, also concurrent ones."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from msgspec import UNSET, UnsetType

from everyagent.errors import BadRequest
from everyagent.managed import Managed
from everyagent.managed.resources.agents.shape import AgentCreate, AgentUpdate, McpServer, Tools
from everyagent.managed.resources.agents.tools import AgentToolset, McpToolset
from everyagent.managed.resources.environments.shape import EnvironmentCreate
from everyagent.managed.sessions.shape import SessionAgentUpdate, SessionCreate, SessionUpdate
from everyagent.model.sessions import SendMessage, UpdateSession
from tests.managed import services

MANY = 12


@pytest.fixture
async def on(tmp_path: Path) -> AsyncGenerator[Managed]:
    async with services.managed(tmp_path) as managed:
        yield managed


async def new_session(on: Managed, **metadata: str) -> str:
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small", tools=[AgentToolset()]))
    place = await on.environments.create(EnvironmentCreate(name="e"))
    asked = SessionCreate(agent=agent.id, environment_id=place.id, metadata=metadata)
    return (await on.managed_sessions.create(asked)).id


async def test_a_created_session_and_a_retrieved_one_have_the_same_fields(on: Managed) -> None:
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small", tools=[AgentToolset()]))
    place = await on.environments.create(EnvironmentCreate(name="e"))
    asked = SessionCreate(agent=agent.id, environment_id=place.id, title="A title", metadata={"a": "b"})
    created = await on.managed_sessions.create(asked)
    retrieved = await on.managed_sessions.retrieve(created.id)
    for field in created.__struct_fields__:
        if field not in ("stats", "updated_at"):
            assert getattr(retrieved, field) == getattr(created, field), field


async def test_no_concurrent_update_of_a_session_is_lost(on: Managed) -> None:
    session_id = await new_session(on)
    patches = [SessionUpdate(metadata={f"key{number}": str(number)}) for number in range(MANY)]
    await asyncio.gather(*(on.managed_sessions.update(session_id, patch) for patch in patches))
    session = await on.managed_sessions.retrieve(session_id)
    assert session.metadata == {f"key{number}": str(number) for number in range(MANY)}


async def test_no_concurrent_update_through_the_universal_api_is_lost(on: Managed) -> None:
    session_id = await new_session(on)
    patches = [UpdateSession(metadata={f"key{number}": str(number)}) for number in range(MANY)]
    await asyncio.gather(
        *(on.sessions.update(session_id, patch) for patch in patches),
        on.managed_sessions.update(session_id, SessionUpdate(title="Both", metadata={"managed": "too"})),
    )
    session = await on.managed_sessions.retrieve(session_id)
    assert len(session.metadata) == MANY + 1
    assert session.title == "Both"


async def test_a_session_is_called_by_its_first_message_until_it_has_a_title(on: Managed) -> None:
    session_id = await new_session(on)
    await on.sessions.send(session_id, SendMessage(message="Mend the login page"))
    assert (await on.managed_sessions.retrieve(session_id)).title == "Mend the login page"
    assert (await on.managed_sessions.update(session_id, SessionUpdate(title="Login"))).title == "Login"


@pytest.mark.parametrize(
    ("patch", "left"), [({}, {"kept": "yes"}), ({"kept": None}, {}), ({"more": "1"}, {"kept": "yes", "more": "1"})]
)
async def test_metadata_is_merged_by_key(on: Managed, patch: dict[str, str | None], left: dict[str, str]) -> None:
    session_id = await new_session(on, kept="yes")
    assert (await on.managed_sessions.update(session_id, SessionUpdate(metadata=patch))).metadata == left
    agent = await on.agents.create(AgentCreate(name="a", model="mock-small", metadata={"kept": "yes"}))
    assert (await on.agents.update(agent.id, AgentUpdate(metadata=patch))).metadata == left


@pytest.mark.parametrize(
    ("tools", "servers"),
    [
        (UNSET, [McpServer(name="docs", url="http://127.0.0.1/")]),
        ([McpToolset(mcp_server_name="docs")], UNSET),
        ([McpToolset(mcp_server_name="docs")], None),
    ],
)
async def test_an_mcp_server_and_its_toolset_must_be_set_together(
    on: Managed, tools: Tools | UnsetType, servers: list[McpServer] | UnsetType | None
) -> None:
    session_id = await new_session(on)
    asked = SessionUpdate(agent=SessionAgentUpdate(tools=tools, mcp_servers=servers))
    with pytest.raises(BadRequest, match="docs"):
        await on.managed_sessions.update(session_id, asked)
