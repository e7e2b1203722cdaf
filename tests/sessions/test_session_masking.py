"""Secrets of a session in what its agent and its client send: masked before the commit."""

import base64
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest

from everyagent.clock import SystemClock
from everyagent.errors import BadRequest
from everyagent.log.sqlite.log import SqliteLog
from everyagent.model.events import ItemCompleted, ItemDelta
from everyagent.model.items import text_of
from everyagent.model.sessions import SendMessage
from everyagent.model.tools import McpLocal, McpRemote
from everyagent.sessions import Sessions
from everyagent.sessions.launch.secrets import SecretVault
from everyagent.testing.rules import check
from tests.sessions.conftest import Opened, Talk

Create = Callable[..., Awaitable[Talk]]
SECRET = 'sk-test/4f9a "8b7c" 6d5e4f3a2b1c'


def stored(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file() and file.name != "vault.key")


async def frames_of(sessions: Sessions, talk: Talk) -> str:
    frames, _ = await sessions.frames(talk.id, after=0, limit=10_000)
    return msgspec.json.encode(frames).decode()


async def test_a_secret_that_the_agent_repeats_is_masked(opened: Opened, create: Create, tmp_path: Path) -> None:
    async with opened() as sessions:
        talk = await create(sessions, env={"API_KEY": SECRET})
        await talk.say('[tool name=bash command="echo $API_KEY; echo $API_KEY | base64; echo $API_KEY | od -An -tx1"]')
        bodies = b"".join(await talk.bodies())
        assert b"[secret API_KEY]" in bodies
        assert "[secret API_KEY]" in await frames_of(sessions, talk)
        assert check(await talk.events(), include_raw=True) == []
        assert await sessions.search("4f9a", session_id=talk.id, limit=10) == []
    assert b"6d5e4f3a2b1c" not in stored(tmp_path / "data")
    assert base64.b64encode(SECRET.encode())[:-4] not in stored(tmp_path / "data")


async def test_a_secret_in_a_message_reaches_the_agent_and_not_the_log(
    opened: Opened, create: Create, tmp_path: Path
) -> None:
    async with opened() as sessions:
        talk = await create(sessions, secrets={"PASSWORD": "swordfish"}, system_prompt="Use swordfish, always.")
        events = await talk.say("[whoami] it is swordfish")
        texts = [text_of(data.item) for data in (event.data for event in events) if isinstance(data, ItemCompleted)]
        assert "[whoami] it is [secret PASSWORD]" in texts
        assert any("Use [secret PASSWORD], always." in text for text in texts)
        assert (await talk.info()).system_prompt == "Use [secret PASSWORD], always."
        assert (await talk.info()).env == ["PASSWORD"]
        proof = '[tool name=bash command="test swordfish = $PASSWORD && echo same"]'
        assert "same" in str(await talk.say(proof))
    assert b"swordfish" not in stored(tmp_path / "data")


async def test_a_secret_in_pieces_is_masked_and_the_deltas_are_the_final_text(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions, secrets={"WORDS": "lorem ipsum dolor"})
        events = await talk.say("I said lorem ipsum dolor sit amet. lorem ips")
        said = [event.data for event in events if event.source == "agent"]
        deltas = "".join(data.delta for data in said if isinstance(data, ItemDelta) and data.kind == "text")
        (final,) = (text_of(data.item) for data in said if isinstance(data, ItemCompleted))
        assert deltas == final == "I said [secret WORDS] sit amet. lorem ips"
        assert check(await talk.events(), include_raw=True) == []


async def rotate_key(folder: Path) -> None:
    log = await SqliteLog.open(folder, SystemClock())
    vault = SecretVault.rotate(folder / "vault.key")
    await log.reseal(lambda sealed, about: vault.seal(vault.unseal(sealed, about), about))
    vault.forget_older()
    await log.close()


async def test_a_message_that_waits_is_stored_encrypted_and_sent_as_it_is(
    opened: Opened, create: Create, tmp_path: Path
) -> None:
    async with opened() as sessions:
        talk = await create(sessions, secrets={"PASSWORD": "swordfish"})
        await talk.send("[slow seconds=60]")
        await talk.received(b"item.delta")
        await sessions.send(
            talk.id, SendMessage(message='[tool name=bash command="test swordfish = $PASSWORD && echo ok"]')
        )
        (waiting,) = await sessions.queue(talk.id)
        assert "[secret PASSWORD]" in waiting.message
        assert b"swordfish" not in stored(tmp_path / "data")
    await rotate_key(tmp_path / "data")
    async with opened() as sessions:
        again = Talk(sessions, talk.id)
        await again.at_rest()
        assert b'"ok\\n"' in b"".join(await again.bodies())
    assert b"swordfish" not in stored(tmp_path / "data")


async def test_the_last_words_of_an_agent_that_dies_are_kept(opened: Opened, create: Create) -> None:
    async with opened() as sessions:
        talk = await create(sessions, secrets={"WORDS": "lorem ipsum dolor"})
        events = await talk.say("[crash code=3 lines=3]")
        assert check(await talk.events(), include_raw=True) == []
        assert any(isinstance(event.data, ItemCompleted) for event in events)


@pytest.mark.parametrize(
    "mcp",
    [
        McpRemote(
            url="http://127.0.0.1:9/mcp?key=url-parameter-1", headers={"Authorization": "Bearer header-secret-1"}
        ),
        McpLocal(command=["server", "--api-key", "argument-secret-1"], env={"TOKEN": "variable-secret-1"}),
    ],
)
async def test_secrets_of_mcp_servers_are_masked(
    opened: Opened, create: Create, mcp: McpRemote | McpLocal, tmp_path: Path
) -> None:
    words = "url-parameter-1 header-secret-1 argument-secret-1 variable-secret-1"
    async with opened() as sessions:
        talk = await create(sessions, mcp={"docs": mcp})
        await talk.say(words)
        frames = await frames_of(sessions, talk)
        masked = ["url-parameter-1", "header-secret-1"] if isinstance(mcp, McpRemote) else words.split()[2:]
        assert [word for word in words.split() if word not in frames] == masked


async def test_harmless_variables_are_not_masked(opened: Opened, create: Create) -> None:
    harmless = {
        "HOME": "/home/somebody/work",
        "MODE": "production",
        "REGION": "us-east-1",
        "URL": "http://127.0.0.1:8080/v1",
        "PATH": "/usr/bin:/usr/local/bin",
        "SHORT": "x1y2z3",
    }
    async with opened() as sessions:
        talk = await create(sessions, env=harmless)
        (answer,) = [
            text_of(event.data.item)
            for event in await talk.say(" ".join(harmless.values()))
            if isinstance(event.data, ItemCompleted) and event.source == "agent"
        ]
        assert answer == " ".join(harmless.values())


@pytest.mark.parametrize("request_", [{"secrets": {"A": "short"}}, {"secrets": {"A": "x" * 9}, "env": {"A": "y"}}])
async def test_secrets_that_cannot_be_masked_are_refused(
    opened: Opened, create: Create, request_: dict[str, object]
) -> None:
    async with opened() as sessions:
        with pytest.raises(BadRequest):
            await create(sessions, **request_)


@pytest.mark.parametrize("name", ["", "A=B", "A\0B"])
@pytest.mark.parametrize("field", ["env", "secrets", "mcp"])
async def test_variables_that_no_program_can_have_are_refused(
    opened: Opened, create: Create, field: str, name: str
) -> None:
    given = {name: "a long enough value"}
    server = McpLocal(command=["true"], env=given)
    async with opened() as sessions:
        with pytest.raises(BadRequest, match="variable"):
            await create(sessions, **{field: {"server": server} if field == "mcp" else given})
