"""Faults of the adapter's own code, and of an app-server that breaks the protocol, end one agent and nothing else."""

import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import fake_app_server
import pytest
from tests.agents.collecting_listener import CollectingListener
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, faulty_daemon, inject, until

from everyagent.agents.adapter import Launch, Prompt
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.codex import program
from everyagent.agents.codex.adapter import CodexAdapter
from everyagent.agents.codex.decode import asks
from everyagent.agents.codex.decode.decoder import CodexDecoder
from everyagent.agents.codex.driver import attachments, encode
from everyagent.agents.codex.driver.driver import CodexConversation
from everyagent.agents.codex.driver.exchange import RpcExchange
from everyagent.agents.codex.driver.server import AppServer
from everyagent.agents.codex.policy import hooks, policies
from everyagent.agents.codex.policy.choices import TurnChoices
from everyagent.agents.codex.policy.pending_hooks import PendingHooks
from everyagent.agents.codex.policy.policy_hooks import PolicyHooks
from everyagent.agents.codex.protocol import routing, rpc
from everyagent.agents.codex.protocol.routing import ThreadRouter
from everyagent.agents.codex.protocol.rpc import RpcMessage
from everyagent.agents.hook_server import HookServer
from everyagent.agents.inbox import Inbox
from everyagent.agents.supervision import TaskSupervisor
from everyagent.model.events import Error, ItemCompleted, ModelResponded, TurnEnded
from everyagent.model.items import text_of
from everyagent.runtime.framing import Line
from everyagent.runtime.process import Process


@pytest.fixture
def binary(tmp_path: Path) -> str:
    path = tmp_path / "codex"
    path.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{fake_app_server.__file__}" "$@"\n')
    path.chmod(0o755)
    return str(path)


@pytest.fixture
async def daemon(binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, binary)
    async with faulty_daemon(tmp_path) as running:
        yield running


async def codex(daemon: FaultyDaemon, tmp_path: Path, *, policed: bool = False, **env: str) -> FaultySession:
    home = tmp_path / "codex-home"
    home.mkdir(exist_ok=True)
    fields = {"toolPolicies": {"tools": {"bash": "ask"}}} if policed else {}
    return await daemon.session("codex", env={"CODEX_HOME": str(home), "HOME": str(home), **env}, **fields)


async def said(session: FaultySession) -> list[str]:
    items = [done.item for done in await session.all(ItemCompleted)]
    return [text_of(item) for item in items if item.kind == "message" and item.role == "assistant"]


async def prompt(session: FaultySession) -> None:
    await session.send("hello")


async def allow(session: FaultySession) -> None:
    await session.send("[ask]")
    await session.permit()


async def hook(session: FaultySession) -> None:
    await session.send("[hook]")


async def allow_hook(session: FaultySession) -> None:
    await session.send("[hook]")
    await session.permit()


CASES = [
    FaultCase(encode, "initialize", prompt),
    FaultCase(encode, "open_thread", prompt),
    FaultCase(CodexConversation, "begin", prompt),
    FaultCase(AppServer, "join", prompt),
    FaultCase(encode, "start_turn", prompt),
    FaultCase(attachments, "content", prompt),
    FaultCase(TurnChoices, "of", prompt),
    FaultCase(RpcExchange, "answered", prompt),
    FaultCase(CodexConversation, "_carry_out", prompt),
    FaultCase(CodexConversation, "_decode", prompt),
    FaultCase(Inbox, "room", prompt),
    FaultCase(asks, "response", allow),
    FaultCase(CodexConversation, "answer", allow),
]
POLICY_CASES = [
    FaultCase(HookServer, "open", prompt),
    FaultCase(hooks, "config", prompt),
    FaultCase(hooks, "verify", prompt),
    FaultCase(PendingHooks, "decide", hook),
    FaultCase(policies, "hook_call", hook),
    FaultCase(CodexDecoder, "hook_called", hook),
    FaultCase(PolicyHooks, "called", hook),
    FaultCase(PendingHooks, "answer", allow_hook),
    FaultCase(PolicyHooks, "answered", allow_hook),
    FaultCase(PendingHooks, "resolve", allow_hook),
    FaultCase(PendingHooks, "_withdraw", allow_hook),
]
CLOSING_CASES = [
    *((CodexConversation, name) for name in ("close", "_release", "_leave_server")),
    *((HookServer, "dismiss"), (PendingHooks, "give_up"), (RpcExchange, "give_up")),
    *((AppServer, name) for name in ("leave", "_forget", "stop", "_release")),
    *((ThreadRouter, "leave"), (Process, "stop")),
]


def case_name(case: FaultCase | tuple[object, str]) -> str:
    return f"{getattr(case[0], '__name__', '')}.{case[1]}"


@pytest.mark.parametrize("case", CASES, ids=case_name)
async def test_a_fault_ends_one_agent(
    case: FaultCase, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    same_agent = await codex(daemon, tmp_path)
    assert (await same_agent.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, case.owner, case.name)
    broken = await codex(daemon, tmp_path)
    await case.provoke(broken)
    await daemon.contained(broken, neighbour, fault)
    assert (await same_agent.turn("hello")).stop_reason == "end_turn"
    assert await same_agent.all(Error) == []


@pytest.mark.parametrize("case", POLICY_CASES, ids=case_name)
async def test_a_fault_in_tool_policies_ends_one_agent(
    case: FaultCase, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    same_agent = await codex(daemon, tmp_path, policed=True)
    await allow_hook(same_agent)
    assert (await same_agent.next(TurnEnded)).stop_reason == "end_turn"
    fault = inject(monkeypatch, case.owner, case.name)
    broken = await codex(daemon, tmp_path, policed=True)
    await case.provoke(broken)
    await daemon.contained(broken, neighbour, fault)
    await same_agent.send("[hook]")
    await same_agent.permit(2)
    assert (await same_agent.next(TurnEnded, 2)).stop_reason == "end_turn"
    assert await same_agent.all(Error) == []


@pytest.mark.parametrize("case", CLOSING_CASES, ids=case_name)
async def test_a_fault_in_closing_leaves_no_process(
    case: tuple[object, str], daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await codex(daemon, tmp_path, policed=True)
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, *case)
    await daemon.closed(broken, neighbour, fault)


@pytest.mark.parametrize("owner", [AppServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_abandoning_a_conversation_leaves_no_process(
    owner: object, daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    refused = await codex(daemon, tmp_path, policed=True, NO_HOOKS="1")
    fault = inject(monkeypatch, owner, "stop")
    assert (await refused.turn("hello")).stop_reason == "error"
    assert "does not call the hook" in (await refused.all(Error))[-1].message
    assert fault.raised == daemon.injected() == 1
    await until(lambda: not refused.processes())
    await daemon.undisturbed(neighbour)


async def test_a_fault_in_ending_a_server_that_crashed_ends_its_sessions(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await codex(daemon, tmp_path)
    fault = inject(monkeypatch, Process, "stop")
    await broken.send("[crash]")
    await daemon.contained(broken, neighbour, fault)


def of_method(method: str, position: int) -> Callable[..., bool]:
    def matches(*args: object) -> bool:
        message = args[position]
        return isinstance(message, RpcMessage) and message.method == method

    return matches


async def test_a_fault_in_routing_ends_one_server(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await codex(daemon, tmp_path)
    fault = inject(monkeypatch, ThreadRouter, "route", of_method("item/started", 1))
    await broken.send("hello")
    await daemon.contained(broken, neighbour, fault)


async def test_a_fault_in_reading_a_line_ends_one_server(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await codex(daemon, tmp_path)
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, rpc, "read")
    await broken.send("hello")
    assert (await broken.next(TurnEnded, 2)).stop_reason == "error"
    assert fault.raised == daemon.injected() == 1
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await daemon.undisturbed(neighbour)


async def test_a_fault_in_decoding_costs_one_frame(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    broken = await codex(daemon, tmp_path)
    fault = inject(monkeypatch, CodexDecoder, "_dispatch", of_method("item/agentMessage/delta", 1))
    await broken.send("hello")
    await daemon.unparsed(broken, neighbour, fault)


async def test_an_initialize_error_of_a_wrong_shape_is_reported(daemon: FaultyDaemon, tmp_path: Path) -> None:
    neighbour = await daemon.neighbour()
    refused = await codex(daemon, tmp_path, BOOM="1")
    assert (await refused.turn("hello")).stop_reason == "error"
    assert "Codex refused initialize: boom" in (await refused.all(Error))[-1].message
    await daemon.undisturbed(neighbour)


async def test_a_request_for_an_unknown_thread_after_stdin_was_closed_ends_one_server(
    daemon: FaultyDaemon, tmp_path: Path
) -> None:
    neighbour = await daemon.neighbour()
    session = await codex(daemon, tmp_path)
    await session.turn("[stray]")
    assert (await session.turn("hello")).stop_reason == "end_turn"
    await daemon.undisturbed(neighbour)


async def test_absurd_usage_is_bounded(daemon: FaultyDaemon, tmp_path: Path) -> None:
    neighbour = await daemon.neighbour()
    session = await codex(daemon, tmp_path)
    for _ in range(2):
        assert (await session.turn("[huge]")).stop_reason == "end_turn"
    assert all(used.usage.input_tokens < 2**53 for used in await session.all(ModelResponded))
    await daemon.undisturbed(neighbour)


async def test_replies_with_item_ids_of_an_earlier_turn_are_kept(daemon: FaultyDaemon, tmp_path: Path) -> None:
    session = await codex(daemon, tmp_path)
    for text in ("hello", "hello", "hello"):
        await session.turn(text)
    assert await said(session) == ["Reply 1", "Reply 2", "Reply 3"]
    assert await session.violations() == []


async def test_a_fault_of_a_server_is_the_death_of_each_session_on_it_and_of_no_other(
    binary: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def launch(name: str, home: str) -> Launch:
        return Launch(
            session_id=name,
            directory=tmp_path,
            scratch=tmp_path,
            permission_mode="default",
            agent_mode="build",
            env={"HOME": str(tmp_path), "CODEX_HOME": str(tmp_path / home)},
        )

    environment = {program.BINARY_VARIABLE: binary, "PATH": os.environ["PATH"]}
    async with anyio.create_task_group() as tasks:
        adapter = CodexAdapter(AdapterContext(TaskSupervisor(tasks), tmp_path, environment=environment))
        listeners = [CollectingListener(), CollectingListener(), CollectingListener()]
        launches = [launch("a", "shared"), launch("b", "shared"), launch("c", "other")]
        first, _, other = [
            await adapter.open(each, listener) for each, listener in zip(launches, listeners, strict=True)
        ]
        inject(monkeypatch, ThreadRouter, "route", of_method("turn/started", 1))
        await first.prompt(Prompt(item_id="i", text="hello"))
        assert [(await listener.death()).code for listener in listeners[:2]] == ["internal", "internal"]
        await other.prompt(Prompt(item_id="j", text="hello"))
        await listeners[2].next(TurnEnded)
        again = CollectingListener()
        reopened = await adapter.open(launches[0], again)
        await reopened.prompt(Prompt(item_id="k", text="hello"))
        await again.next(TurnEnded)
        await adapter.close()
        assert [len(listener.deaths) for listener in listeners] == [1, 1, 1]
        tasks.cancel_scope.cancel()


def test_the_routers_memory_of_threads_that_left_is_bounded() -> None:
    router: ThreadRouter[str] = ThreadRouter(["owner"])
    for number in range(3 * routing.LEFT):
        router.ask(number, "owner")
        opened = b'{"id":%d,"result":{"thread":{"id":"T%d"}}}' % (number, number)
        assert len(list(router.route(rpc.read(Line(opened))))) == 1
        router.leave("owner")
        late = b'{"method":"turn/started","params":{"threadId":"old %d"}}' % number
        assert list(router.route(rpc.read(Line(late)))) == []
    sizes = [len(held) for held in vars(router).values() if isinstance(held, dict | list | deque)]
    assert max(sizes) <= routing.LEFT
