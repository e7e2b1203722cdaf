"""Permission events that arrive before the input of their calls: OpenCode sends the two independently."""

from collections.abc import Awaitable, Callable, Iterator

import anyio
import msgspec
import pytest
from test_opencode_language import MAIN, event, message, part

from everyagent.agents.opencode.decode.decoder import OpencodeDecoder
from everyagent.agents.opencode.driver import early_asks
from everyagent.agents.opencode.driver.early_asks import EarlyAsks
from everyagent.agents.opencode.policy.modes import native
from everyagent.agents.opencode.protocol.native_event import NativeEvent
from everyagent.model.events import PermissionRequested, PermissionResolved

ASKED = event(
    "permission.asked",
    id="per_1",
    permission="sums_add",
    patterns=["*"],
    metadata={},
    always=["*"],
    tool={"messageID": "msg_1", "callID": "call_1"},
)


def add(status: str, **input: int) -> NativeEvent:
    return part("tool", "prt_1", tool="sums_add", callID="call_1", state={"status": status, "input": input})


class Stage:
    """Feeds events, and collects the tasks that are started and the events of asks."""

    def __init__(self) -> None:
        self.decoder = OpencodeDecoder(servers={"sums_": "sums"})
        self.decoder.session = MAIN
        self.decoder.prompted()
        self.tasks: list[Callable[[], Awaitable[object]]] = []
        self.reminded = anyio.Event()
        self.early = EarlyAsks(self.decoder, self.tasks.append, remind=self.reminded.set)
        self.frames: list[bytes] = []

    def feed(self, *events: NativeEvent) -> list[PermissionRequested | PermissionResolved]:
        return [ask for each in events for ask in self._asks(each)]

    def _asks(self, event: NativeEvent) -> Iterator[PermissionRequested | PermissionResolved]:
        for decoded in self.early.decode(event):
            self.frames.append(decoded.frame.body)
            yield from (each for each in decoded.drafts if isinstance(each, PermissionRequested | PermissionResolved))


@pytest.mark.parametrize(
    "events",
    [
        [message(), add("pending"), add("running", a=2, b=3), ASKED],
        [message(), add("pending"), ASKED, add("running", a=2, b=3)],
        [message(), ASKED, add("pending"), add("running", a=2, b=3)],
        [ASKED, message(), add("running", a=2, b=3)],
    ],
    ids=["in order", "before the input", "before the call", "before the message"],
)
def test_a_permission_shows_the_input_of_its_call_in_any_order_of_events(events: list[NativeEvent]) -> None:
    stage = Stage()
    (asked,) = stage.feed(*events)
    assert isinstance(asked, PermissionRequested)
    assert (asked.tool, asked.input, asked.item_id) == ("add", {"a": 2, "b": 3}, "prt_1")
    assert sorted(stage.frames) == sorted(each.body for each in events), "each frame is kept once"
    assert stage.frames[-1] == ASKED.body


def test_a_permission_whose_call_does_not_arrive_is_asked_for_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early_asks, "HOLD_SECONDS", 0)
    stage = Stage()
    assert stage.feed(message(), ASKED) == []
    anyio.run(stage.tasks[0])
    assert stage.reminded.is_set()
    (decoded,) = stage.early.release()
    (asked,) = decoded.drafts
    assert isinstance(asked, PermissionRequested)
    assert (asked.tool, asked.input, asked.item_id) == ("sums_add", {"patterns": ["*"]}, None)


def test_an_answer_from_elsewhere_does_not_overtake_a_held_permission() -> None:
    replied = event("permission.replied", requestID="per_1", reply="once")
    asked, resolved = Stage().feed(message(), add("pending"), ASKED, replied)
    assert isinstance(asked, PermissionRequested)
    assert isinstance(resolved, PermissionResolved)


def test_permissions_that_nobody_is_asked_for_are_not_held() -> None:
    stage = Stage()
    stage.decoder.asks.mode = native("bypass", "")
    stage.feed(ASKED)
    assert len(stage.decoder.effects) == 1
    stage.decoder.turn = None
    broken = msgspec.structs.replace(ASKED, body=b"{")
    assert not stage.feed(broken)
    assert len(stage.frames) == 2
