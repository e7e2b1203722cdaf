"""Faults of the adapter's own code, and of an app-server that breaks the protocol, end one agent and nothing else."""

import os
import sys
from collections import deque
from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import anyio
import fake_app_server
import pytest
from tests.agents.callbacks import callbacks
from tests.agents.collecting_listener import CollectingListener
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, answers, faulty_daemon, inject, name_of, sends
from tests.agents.shared_server_faults import ASK, HOOK, SharedServerFaults, closing_cases, shared_cases

from everyagent.agents.adapter import Launch, Prompt
from everyagent.agents.adapter_context import AdapterContext
from everyagent.agents.codex import catalog, program
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
from everyagent.model.events import Error, ItemCompleted, TurnEnded
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


@pytest.fixture
def faults(daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedServerFaults:
    home = tmp_path / "codex-home"
    home.mkdir()

    async def start(*, policed: bool = False, beside: FaultySession | None = None, **env: str) -> FaultySession:
        fields = {"toolPolicies": {"tools": {"bash": "ask"}}} if policed else {}
        homes = {"CODEX_HOME": str(home), "HOME": str(home)}
        return await daemon.session("codex", {**homes, **env}, beside=beside, **fields)

    return SharedServerFaults(daemon, start, monkeypatch)


CASES = [
    *shared_cases(CodexConversation, AppServer),
    FaultCase(encode, "initialize", sends("hello")),
    FaultCase(encode, "open_thread", sends("hello")),
    FaultCase(encode, "start_turn", sends("hello")),
    FaultCase(attachments, "content", sends("hello")),
    FaultCase(TurnChoices, "of", sends("hello")),
    FaultCase(RpcExchange, "open", sends("hello")),
    FaultCase(RpcExchange, "answered", sends("hello")),
    FaultCase(Inbox, "room", sends("hello")),
    FaultCase(asks, "response", answers(ASK)),
]
POLICY_CASES = [
    FaultCase(HookServer, "open", sends("hello")),
    FaultCase(hooks, "config", sends("hello")),
    FaultCase(hooks, "verify", sends("hello")),
    FaultCase(PendingHooks, "decide", sends(HOOK)),
    FaultCase(policies, "hook_call", sends(HOOK)),
    FaultCase(CodexDecoder, "hook_called", sends(HOOK)),
    FaultCase(PolicyHooks, "called", sends(HOOK)),
    FaultCase(PendingHooks, "answer", answers(HOOK)),
    FaultCase(PolicyHooks, "answered", answers(HOOK)),
    FaultCase(PendingHooks, "resolve", answers(HOOK)),
    FaultCase(PendingHooks, "_withdraw", answers(HOOK)),
]
CLOSING_CASES = [
    *closing_cases(CodexConversation, AppServer),
    *((HookServer, "dismiss"), (PendingHooks, "give_up"), (RpcExchange, "give_up"), (ThreadRouter, "leave")),
    *((CodexConversation, "lose"), (RpcExchange, "close")),
]
#: Each has a test of its own below.
OTHERS = [*((CodexConversation, name) for name in ("_part", "_halt", "interrupt")), (AppServer, "_read")]
#: Only calls `AppServer.ready`.
FORWARDS = {"CodexAdapter._start"}


def test_every_callback_has_a_case() -> None:
    others = {name_of(*each) for each in (*CLOSING_CASES, *OTHERS)}
    assert callbacks("codex") <= {*map(str, CASES), *map(str, POLICY_CASES), *others, *FORWARDS}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_one_agent(case: FaultCase, faults: SharedServerFaults) -> None:
    await faults.ends_one_agent(case)


@pytest.mark.parametrize("case", POLICY_CASES, ids=str)
async def test_a_fault_in_tool_policies_ends_one_agent(case: FaultCase, faults: SharedServerFaults) -> None:
    await faults.ends_one_agent_with_policies(case)


async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(faults: SharedServerFaults) -> None:
    await faults.ends_the_cancelled_turn(CodexConversation)


@pytest.mark.parametrize("case", CLOSING_CASES, ids=lambda case: name_of(*case))
async def test_a_fault_in_closing_leaves_no_process(case: tuple[object, str], faults: SharedServerFaults) -> None:
    await faults.closes(case)


async def test_a_fault_in_leaving_a_shared_server_does_not_affect_its_other_session(
    faults: SharedServerFaults,
) -> None:
    await faults.leaves_a_shared_server(CodexConversation, "_part")


async def test_a_fault_in_stopping_after_a_fault_leaves_the_shared_server(faults: SharedServerFaults) -> None:
    await faults.halts(CodexConversation)


@pytest.mark.parametrize("owner", [AppServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_abandoning_a_conversation_leaves_no_process(
    owner: object, faults: SharedServerFaults
) -> None:
    await faults.abandons(owner, policed=True, NO_HOOKS="1")


@pytest.mark.parametrize("owner", [AppServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_ending_the_server_that_lists_models_does_not_refuse_the_session(
    owner: object, faults: SharedServerFaults
) -> None:
    await faults.lists_no_models(owner, "stop")


async def test_a_fault_in_reading_the_output_of_a_new_server_ends_it(faults: SharedServerFaults) -> None:
    await faults.starts_no_server(AppServer)


async def test_a_fault_in_reading_the_models_does_not_refuse_the_session(faults: SharedServerFaults) -> None:
    await faults.lists_no_models(catalog, "models")


async def test_a_fault_in_ending_a_server_that_crashed_ends_its_sessions(
    daemon: FaultyDaemon, faults: SharedServerFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await daemon.neighbour(), await faults.start()
    fault = inject(monkeypatch, Process, "stop")
    await broken.send("[crash]")
    await daemon.contained(broken, neighbour, fault)


def of_method(method: str, position: int) -> Callable[..., bool]:
    def matches(*args: object) -> bool:
        message = args[position]
        return isinstance(message, RpcMessage) and message.method == method

    return matches


async def test_a_fault_in_routing_ends_one_server(
    daemon: FaultyDaemon, faults: SharedServerFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await daemon.neighbour(), await faults.start()
    fault = inject(monkeypatch, ThreadRouter, "route", of_method("item/started", 1))
    await broken.send("hello")
    await daemon.contained(broken, neighbour, fault)


async def test_a_fault_in_reading_a_line_ends_one_server(
    daemon: FaultyDaemon, faults: SharedServerFaults, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour, broken = await daemon.neighbour(), await faults.start()
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    fault = inject(monkeypatch, rpc, "read")
    await broken.send("hello")
    assert (await broken.next(TurnEnded, 2)).stop_reason == "error"
    assert fault.raised == daemon.injected() == 1
    assert (await broken.turn("hello")).stop_reason == "end_turn"
    await daemon.undisturbed(neighbour)


async def test_a_fault_in_decoding_costs_one_frame(faults: SharedServerFaults) -> None:
    await faults.loses_one_frame(CodexDecoder, of_method("item/agentMessage/delta", 1))


async def test_an_initialize_error_of_a_wrong_shape_is_reported(
    daemon: FaultyDaemon, faults: SharedServerFaults
) -> None:
    neighbour = await daemon.neighbour()
    refused = await faults.start(BOOM="1")
    assert (await refused.turn("hello")).stop_reason == "error"
    assert "Codex refused initialize: boom" in (await refused.all(Error))[-1].message
    await daemon.undisturbed(neighbour)


async def test_a_request_for_an_unknown_thread_after_stdin_was_closed_ends_one_server(
    daemon: FaultyDaemon, faults: SharedServerFaults
) -> None:
    neighbour, session = await daemon.neighbour(), await faults.start()
    await session.turn("[stray]")
    assert (await session.turn("hello")).stop_reason == "end_turn"
    await daemon.undisturbed(neighbour)


async def test_absurd_usage_is_bounded(faults: SharedServerFaults) -> None:
    await faults.bounds_absurd_usage()


async def test_replies_with_item_ids_of_an_earlier_turn_are_kept(faults: SharedServerFaults) -> None:
    session = await faults.start()
    for text in ("hello", "hello", "hello"):
        await session.turn(text)
    items = [done.item for done in await session.all(ItemCompleted)]
    replies = [text_of(item) for item in items if item.kind == "message" and item.role == "assistant"]
    assert replies == ["Reply 1", "Reply 2", "Reply 3"]
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
