"""Faults of the adapter's own code end one agent and nothing else; a fault of the decoder costs one event."""

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import fake_opencode
import pytest
from tests.agents.callbacks import callbacks
from tests.agents.faults import FaultCase, FaultyDaemon, FaultySession, answers, faulty_daemon, inject, name_of, sends
from tests.agents.shared_server_faults import ASK, HOOK, SharedServerFaults, closing_cases, shared_cases

from everyagent.agents.opencode import catalog, program
from everyagent.agents.opencode.adapter import OpencodeAdapter
from everyagent.agents.opencode.decode import asks
from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.driver import attachments, driver, encode
from everyagent.agents.opencode.driver.driver import OpencodeConversation
from everyagent.agents.opencode.driver.early_asks import EarlyAsks
from everyagent.agents.opencode.driver.resync import Resync
from everyagent.agents.opencode.driver.server import OpencodeServer
from everyagent.agents.opencode.policy.plugin_hooks import PluginHooks
from everyagent.agents.opencode.policy.policies import SessionPolicies
from everyagent.agents.opencode.protocol.feed import EventFeed
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.agents.opencode.protocol.rest import Rest
from everyagent.agents.opencode.protocol.routing import SessionRouter
from everyagent.model.events import ItemCompleted
from everyagent.model.items import text_of
from everyagent.runtime.process import Process


@pytest.fixture
async def daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncGenerator[FaultyDaemon]:
    monkeypatch.setenv(program.BINARY_VARIABLE, fake_opencode.installed(tmp_path))
    async with faulty_daemon(tmp_path) as running:
        yield running


@pytest.fixture
def faults(daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> SharedServerFaults:
    async def start(*, policed: bool = False, beside: FaultySession | None = None, **env: str) -> FaultySession:
        fields = {"toolPolicies": {"tools": {"bash": "ask"}}} if policed else {}
        return await daemon.session("opencode", {"HOME": str(tmp_path), **env}, beside=beside, **fields)

    return SharedServerFaults(daemon, start, monkeypatch)


STALL = sends("[stall]")
CASES = [
    *shared_cases(OpencodeConversation, OpencodeServer),
    FaultCase(OpencodeAdapter, "_key", sends("hello")),
    FaultCase(OpencodeServer, "listen", sends("hello")),
    FaultCase(OpencodeServer, "_deliver", sends("hello")),
    FaultCase(encode, "create", sends("hello")),
    FaultCase(encode, "prompt", sends("hello")),
    FaultCase(attachments, "parts", sends("hello")),
    FaultCase(EventFeed, "run", sends("hello")),
    FaultCase(EventFeed, "_listen", sends("hello")),
    FaultCase(EventFeed, "_back", sends("hello")),
    FaultCase(SessionRouter, "route", sends("hello")),
    FaultCase(asks, "response", answers(ASK)),
    FaultCase(OpencodeConversation, "_reply", answers(ASK)),
    FaultCase(EarlyAsks, "_wait", sends("[early]")),
    FaultCase(OpencodeConversation, "_compact", sends("/compact")),
    FaultCase(Resync, "begin", STALL),
    FaultCase(Resync, "_wait", STALL),
    FaultCase(Resync, "check", STALL),
    FaultCase(OpencodeConversation, "_fetch", STALL),
    FaultCase(driver, "fetch_snapshot", STALL),
    FaultCase(SessionRouter, "sessions", STALL),
    FaultCase(OpencodeDecoder, "catch_up", STALL),
    FaultCase(Resync, "_failed", sends("[stall] [hidden]")),
    FaultCase(Resync, "after_loss", sends("[drop]")),
    FaultCase(OpencodeServer, "_missed", sends("[drop]")),
]
POLICY_CASES = [
    FaultCase(PluginHooks, "environment", sends("hello")),
    FaultCase(PluginHooks, "is_loaded", sends("hello")),
    FaultCase(OpencodeConversation, "decide", sends(HOOK)),
    FaultCase(SessionPolicies, "verdict", sends(HOOK)),
    FaultCase(SessionPolicies, "_item_of", sends(HOOK)),
    FaultCase(SessionPolicies, "answer", answers(HOOK)),
]
CLOSING_CASES = [
    *closing_cases(OpencodeConversation, OpencodeServer),
    *((SessionRouter, "leave"), (SessionPolicies, "turn_over"), (EventFeed, "close"), (Rest, "close")),
]
LEAVING_CASES = [(OpencodeConversation, "_part"), (OpencodeServer, "_leave_directory"), (OpencodeServer, "_dispose")]
#: Each has a test of its own below.
OTHERS = [
    *((OpencodeConversation, name) for name in ("_halt", "interrupt", "_abort_begun", "_report_mcp_servers")),
    *((PluginHooks, "_decide"), (OpencodeServer, "_read")),
]
#: `_start` only calls `OpencodeServer.ready`. `close` is called when the daemon stops.
FORWARDS = {"OpencodeAdapter._start", "PluginHooks.close"}


def test_every_callback_has_a_case() -> None:
    others = {name_of(*each) for each in (*CLOSING_CASES, *LEAVING_CASES, *OTHERS)}
    assert callbacks("opencode") <= {*map(str, CASES), *map(str, POLICY_CASES), *others, *FORWARDS}


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_a_fault_ends_one_agent(case: FaultCase, faults: SharedServerFaults) -> None:
    await faults.ends_one_agent(case)


@pytest.mark.parametrize("case", POLICY_CASES, ids=str)
async def test_a_fault_in_tool_policies_ends_one_agent(case: FaultCase, faults: SharedServerFaults) -> None:
    await faults.ends_one_agent_with_policies(case)


@pytest.mark.parametrize("name", ["interrupt", "_abort_begun"])
async def test_a_fault_in_an_interrupt_ends_the_cancelled_turn(name: str, faults: SharedServerFaults) -> None:
    await faults.ends_the_cancelled_turn(OpencodeConversation, name)


@pytest.mark.parametrize("case", CLOSING_CASES, ids=lambda case: name_of(*case))
async def test_a_fault_in_closing_leaves_no_process(case: tuple[object, str], faults: SharedServerFaults) -> None:
    await faults.closes(case)


@pytest.mark.parametrize("case", LEAVING_CASES, ids=lambda case: name_of(*case))
async def test_a_fault_in_leaving_a_shared_server_does_not_affect_its_other_session(
    case: tuple[object, str], faults: SharedServerFaults
) -> None:
    await faults.leaves_a_shared_server(*case)


async def test_a_fault_in_stopping_after_a_fault_leaves_the_shared_server(faults: SharedServerFaults) -> None:
    await faults.halts(OpencodeConversation)


@pytest.mark.parametrize("owner", [OpencodeServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_abandoning_a_conversation_leaves_no_process(
    owner: object, faults: SharedServerFaults
) -> None:
    await faults.abandons(owner, REFUSE="1")


@pytest.mark.parametrize("owner", [OpencodeServer, Process], ids=lambda owner: owner.__name__)
async def test_a_fault_in_ending_the_server_that_lists_models_does_not_refuse_the_session(
    owner: object, faults: SharedServerFaults
) -> None:
    await faults.lists_no_models(owner, "stop")


async def test_a_fault_in_reading_the_output_of_a_new_server_ends_it(faults: SharedServerFaults) -> None:
    await faults.starts_no_server(OpencodeServer)


async def test_a_fault_in_reading_the_models_does_not_refuse_the_session(faults: SharedServerFaults) -> None:
    await faults.lists_no_models(catalog, "catalog")


async def test_a_fault_in_asking_about_mcp_servers_ends_one_agent(
    daemon: FaultyDaemon, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = await daemon.neighbour()
    fault = inject(monkeypatch, OpencodeConversation, "_report_mcp_servers")
    mcp = {"notes": {"type": "remote", "url": "http://127.0.0.1:9/"}}
    broken = await daemon.session("opencode", {"HOME": str(tmp_path)}, mcp=mcp)
    await broken.send(ASK)
    await daemon.contained(broken, neighbour, fault)


@pytest.mark.parametrize("case", [(PluginHooks, "_decide"), (OpencodeConversation, "owns")], ids=lambda case: case[1])
async def test_a_fault_in_finding_the_session_of_a_call_rejects_the_call(
    case: tuple[object, str], faults: SharedServerFaults
) -> None:
    fault = inject(faults.monkeypatch, *case, about_a_call)
    neighbour, broken = await faults.daemon.neighbour(), await faults.start(policed=True)
    assert (await broken.turn(HOOK)).stop_reason == "end_turn"
    await broken.until_text("kept this call from being decided")
    assert fault.raised == faults.daemon.injected() == 1
    assert await broken.violations() == []
    await faults.daemon.undisturbed(neighbour)


def about_a_call(_: object, message: object) -> bool:
    return not isinstance(message, bytes) or b"wish" in message


def of_type(type: str) -> Callable[..., bool]:
    def matches(_: object, event: object) -> bool:
        return isinstance(event, NativeEvent) and event.type == type

    return matches


async def test_a_fault_in_decoding_costs_one_event(faults: SharedServerFaults) -> None:
    await faults.loses_one_frame(OpencodeDecoder, of_type("message.part.delta"))


async def test_absurd_usage_is_bounded(faults: SharedServerFaults) -> None:
    session = await faults.bounds_absurd_usage()
    items = [done.item for done in await session.all(ItemCompleted)]
    assert [text_of(item) for item in items if item.role == "assistant"] == ["Reply 1", "Reply 2"]
