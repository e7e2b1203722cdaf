"""Turns as traces: a real daemon, OpenTelemetry's SDK, and a collector that reads what it sends."""

import re
import shlex
from collections.abc import Generator
from importlib.metadata import metadata
from pathlib import Path
from typing import Any

import httpx2
import pytest

from everyagent.client import Client
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.telemetry.collector import Collector, Taken, collecting
from tests.waiting import LIMIT_SECONDS, wait_until

SECRET_WORD = "tangerines"
PAGE = Path(__file__).parents[2] / "docs" / "telemetry.md"
TRACE, CALLER = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Traced:
    def __init__(self, process: DaemonProcess, collector: Collector, client: Client) -> None:
        self.process, self.collector, self.client = process, collector, client

    def trace_of(self, session: str, turns: int = 1) -> list[Taken]:
        """The spans of the session's last turn, once they have come."""
        roots = wait_until(lambda: self._roots(session, turns))
        trace = roots[-1].trace
        return [span for span in self.collector.spans() if span.trace == trace]

    def _roots(self, session: str, turns: int) -> list[Taken]:
        found = [
            span
            for span in self.collector.spans()
            if span.attributes.get("gen_ai.operation.name") == "invoke_agent"
            and span.attributes["gen_ai.conversation.id"] == session
        ]
        return found if len(found) >= turns else []


@pytest.fixture(scope="module")
def traced(tmp_path_factory: pytest.TempPathFactory) -> Generator[Traced]:
    with collecting() as collector:
        folder = tmp_path_factory.mktemp("traced")
        environment = {"OTEL_EXPORTER_OTLP_HEADERS": "api-key=collected"}
        process = DaemonProcess(
            folder / "data", "--default-agent", "mock", *_example(collector), environment=environment
        )
        process.start()
        with Client(process.url, TOKEN) as client:
            yield Traced(process, collector, client)
        assert process.stop() == 0


def _example(collector: Collector) -> list[str]:
    """The arguments with which the page starts a daemon, and the collector of this test."""
    (block,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(), re.DOTALL)
    install, serve = (shlex.split(line) for line in block.splitlines())
    name, _, extra = install[-1].rstrip("]").partition("[")
    assert install[:-1] == ["pip", "install"]
    assert extra in (metadata(name).get_all("Provides-Extra") or [])
    assert serve[:2] == ["everyagent", "serve"]
    assert "http://127.0.0.1:4318" in serve
    return [collector.url if word == "http://127.0.0.1:4318" else word for word in serve[2:]]


def _named(spans: list[Taken], name: str) -> Taken:
    (found,) = [span for span in spans if span.name == name]
    return found


def test_a_turn_is_one_trace_of_the_agent_its_model_its_tools_and_its_waits(traced: Traced) -> None:
    client = traced.client
    client.create("shop", model="mock-large")
    client.send("shop", f'[tool name=bash command="echo {SECRET_WORD}"] [ask] [subagent] [text words=5] {SECRET_WORD}')
    (ask,) = wait_until(lambda: client.asks("shop"))
    client.reply_permission("shop", ask.ask_id, "once")
    spans = traced.trace_of("shop")
    root = _named(spans, "invoke_agent mock")
    assert root.parent == ""
    attributes = root.attributes
    assert attributes["gen_ai.operation.name"] == "invoke_agent"
    assert attributes["gen_ai.provider.name"] == attributes["gen_ai.agent.name"] == "mock"
    assert attributes["gen_ai.request.model"] == "mock-large"
    assert attributes["gen_ai.response.finish_reasons"] == ["end_turn"]
    assert attributes["everyagent.key.id"] == "owner"
    info = client.session("shop")
    assert attributes["gen_ai.usage.input_tokens"] == info.usage.input_tokens
    assert attributes["gen_ai.usage.output_tokens"] == info.usage.output_tokens
    events = client.event_page("shop", limit=10_000).events
    chats = [span for span in spans if span.attributes.get("gen_ai.operation.name") == "chat"]
    assert len(chats) == sum(event.type == "model.responded" for event in events)
    assert {(span.name, span.kind) for span in chats} == {("chat mock-large", "SPAN_KIND_CLIENT")}
    assert sum(span.attributes["gen_ai.usage.output_tokens"] for span in chats) == info.usage.output_tokens
    (wait,) = [span for span in spans if span.name == "wait_for_permission"]
    assert wait.attributes["everyagent.ask.outcome"] == "approved"
    tools = {span.id: span for span in spans if span.name.startswith("execute_tool ")}
    assert "execute_tool bash" in {span.name for span in tools.values()}
    assert any(span.parent in tools for span in chats), "a sub-agent's requests are below its tool call"
    for span in spans:
        assert span.parent in {"", *(each.id for each in spans)}
        assert root.start <= span.start <= span.end <= root.end
    assert len({span.id for span in spans}) == len(spans)
    assert not [body for body in traced.collector.bodies if SECRET_WORD.encode() in body], "content was sent"
    assert traced.collector.headers["api-key"] == "collected"


def test_a_turn_is_in_the_trace_of_the_message_that_began_it(traced: Traced) -> None:
    traced.client.create("called")
    body, headers = {"message": "hello"}, {**traced.process.headers, "traceparent": f"00-{TRACE}-{CALLER}-01"}
    url = f"{traced.process.url}/v1/sessions/called/messages/stream"
    done = httpx2.post(url, json=body, headers=headers, verify=NO_TLS, timeout=LIMIT_SECONDS)
    assert done.status_code == 200
    root = _named(traced.trace_of("called"), "invoke_agent mock")
    assert (root.trace, root.parent) == (TRACE, CALLER)
    traced.client.run_turn("called", "and now without")
    assert traced.trace_of("called", 2)[0].trace != TRACE


def test_a_failed_turn_has_the_type_of_its_error(traced: Traced) -> None:
    traced.client.create("broken")
    traced.client.run_turn("broken", f'[retry times=2 delay_ms=1] [error code=overloaded message="{SECRET_WORD}"]')
    root = _named(traced.trace_of("broken"), "invoke_agent mock")
    assert (root.failed, root.attributes["error.type"], root.events) == (True, "overloaded", ["retry", "retry"])
    assert not [body for body in traced.collector.bodies if SECRET_WORD.encode() in body]


def test_a_fork_does_not_repeat_the_traces_of_its_origin(traced: Traced) -> None:
    traced.client.create("origin")
    traced.client.run_turn("origin", "hello")
    traced.trace_of("origin")
    traced.client.fork("origin", new_id="copy")
    traced.client.run_turn("copy", "on its own")
    traced.trace_of("copy")
    assert len(traced._roots("copy", 1)) == 1


def test_a_collector_that_is_away_or_refuses_slows_nothing_and_gets_the_rest_later(traced: Traced) -> None:
    collector, client = traced.collector, traced.client
    client.create("patient")
    collector.status, before = 503, collector.attempts
    turns = [client.run_turn("patient", f"number {number}") for number in range(3)]
    assert [turn.stop_reason for turn in turns] == ["end_turn"] * 3
    wait_until(lambda: collector.attempts > before)
    collector.status = 200
    traced.trace_of("patient", 3)
    collector.status = 400
    before = collector.attempts
    client.run_turn("patient", "refused")
    wait_until(lambda: collector.attempts > before)
    collector.status = 200
    client.run_turn("patient", "taken")
    traced.trace_of("patient", 4)
    assert len({span.trace for span in traced._roots("patient", 1)}) == 4


def test_spans_that_are_exported_again_after_a_crash_are_the_same(tmp_path: Path) -> None:
    with collecting() as collector:
        flags = ("--default-agent", "mock", "--otel-endpoint", collector.url, "--otel-content")
        process = DaemonProcess(tmp_path / "data", *flags)
        process.start()
        with Client(process.url, TOKEN) as client:
            client.create("one")
            client.run_turn("one", f'[tool name=bash command="echo {SECRET_WORD}"] hello')
            wait_until(lambda: collector.named("invoke_agent mock"))
        process.kill()
        first = collector.spans()
        collector.bodies.clear()
        process.start()
        with Client(process.url, TOKEN) as client:
            client.run_turn("one", "again")
            wait_until(lambda: [each for each in collector.spans() if each.trace != first[0].trace] or None)
        assert process.stop() == 0
        again = [span for span in collector.spans() if span.trace == first[0].trace]
        assert again in ([], first), "either it was not sent again, or the same spans were"
        root, tool = first[0].attributes, _attributes(first, "execute_tool bash")
        assert "hello" in root["gen_ai.input.messages"]
        assert SECRET_WORD in tool["gen_ai.tool.call.arguments"]
        assert SECRET_WORD in tool["gen_ai.tool.call.result"]


def _attributes(spans: list[Taken], name: str) -> dict[str, Any]:
    return _named(spans, name).attributes
