"""What the published description of events says beside what the flows of the SDKs show."""

import base64
from collections.abc import Generator
from typing import cast

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import ASKING, TOOLSET, WEATHER, Event, Raw, required

SELF_HOSTED = {"type": "self_hosted"}
CALL = '[custom name=get_weather input={"city":"Oslo"}]'
TEXT = {"type": "text", "text": "sunny"}
PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}}
REPORT = {
    "type": "document",
    "source": {"type": "base64", "media_type": "application/pdf", "data": base64.b64encode(b"%PDF-1.4").decode()},
    "title": "Report",
    "citations": {"enabled": True},
}
FOUND = {
    "type": "search_result",
    "source": "https://example.org/",
    "title": "Weather",
    "content": [TEXT],
    "citations": {"enabled": True},
}
BLOCKS = [TEXT, PICTURE, REPORT, FOUND]
SYSTEM = {"type": "system.message", "content": [{"type": "text", "text": "Be brief."}]}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def only(raw: Raw, kind: str) -> Event:
    (event,) = [event for event in raw.events() if event["type"] == kind]
    return event


def listed(raw: Raw, query: str) -> list[object]:
    return [event["id"] for event in cast("list[Event]", raw.call("GET", f"{raw.path}/events?{query}")["data"])]


def within(expected: object, actual: object) -> bool:
    """Whether everything of the first is in the second, which may have more fields."""
    if isinstance(expected, dict) and isinstance(actual, dict):
        given, kept = cast("Event", expected), cast("Event", actual)
        return all(within(value, kept.get(key)) for key, value in given.items())
    if isinstance(expected, list) and isinstance(actual, list):
        wanted, found = cast("list[object]", expected), cast("list[object]", actual)
        return len(wanted) == len(found) and all(map(within, wanted, found))
    return expected == actual


def test_events_are_filtered_by_types_and_times_in_every_spelling(raw: Raw) -> None:
    raw.create(TOOLSET)
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    raw.say("[hello]")
    raw.wait_idle("end_turn")
    events = raw.events()
    kinds = ("agent.message", "session.status_idle")
    wanted = [event["id"] for event in events if event["type"] in kinds]
    for name in ("types[]", "types"):
        assert listed(raw, "&".join(f"{name}={kind}" for kind in kinds)) == wanted
    at = str(events[len(events) // 2]["processed_at"])
    times = [str(event["processed_at"]) for event in events]
    compare = {
        "gt": [time > at for time in times],
        "gte": [time >= at for time in times],
        "lt": [time < at for time in times],
        "lte": [time <= at for time in times],
    }
    for name, chosen in compare.items():
        expected = [event["id"] for event, match in zip(events, chosen, strict=True) if match]
        assert listed(raw, f"limit=100&created_at[{name}]={at}") == expected, name


def test_a_custom_tool_may_return_text_images_documents_and_search_results(raw: Raw) -> None:
    raw.create(TOOLSET, WEATHER)
    raw.say(CALL)
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": BLOCKS})
    raw.wait_idle("end_turn")
    assert within(BLOCKS, only(raw, "user.custom_tool_result")["content"])


def test_a_tool_of_the_client_may_return_the_same(raw: Raw) -> None:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    result = {"type": "user.tool_result", "tool_use_id": use}
    refused = raw.answer("POST", f"{raw.path}/events", {"events": [{**result, "content": BLOCKS}]})
    assert (refused.status_code, "application/pdf" in refused.text) == (400, True), "its agent has no tool to read it"
    plain = {**REPORT, "source": {"type": "text", "media_type": "text/plain", "data": "It was warm."}}
    blocks = [TEXT, PICTURE, plain, FOUND]
    raw.send({**result, "content": blocks})
    raw.wait_idle("end_turn")
    assert within(blocks, only(raw, "user.tool_result")["content"])


def test_a_search_result_is_no_message(raw: Raw) -> None:
    raw.create(TOOLSET)
    said = {"type": "user.message", "content": [FOUND]}
    assert raw.answer("POST", f"{raw.path}/events", {"events": [said]}).status_code == 400
    assert raw.events() == []


def test_a_message_may_have_a_document_of_an_uploaded_file(raw: Raw) -> None:
    raw.create(TOOLSET)
    source = {"type": "file", "file_id": raw.upload("notes.txt", b"bring a coat")}
    document = {"type": "document", "source": source, "title": "input", "citations": {"enabled": True}}
    content = [{"type": "text", "text": "Summarize this document. [hello]"}, document]
    raw.send({"type": "user.message", "content": content})
    raw.wait_idle("end_turn")
    assert within(content, only(raw, "user.message")["content"])


def test_a_system_message_may_follow_each_kind_of_result(raw: Raw) -> None:
    raw.create(TOOLSET, WEATHER)
    raw.say(CALL)
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.custom_tool_result", "custom_tool_use_id": use, "content": [TEXT]}, SYSTEM)
    raw.wait_idle("end_turn")
    only(raw, "system.message")
    raw.create(TOOLSET, environment=SELF_HOSTED)
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.tool_result", "tool_use_id": use, "content": [TEXT]}, SYSTEM)
    raw.wait_idle("end_turn")
    only(raw, "system.message")


def test_at_most_one_system_message_is_taken(raw: Raw) -> None:
    raw.create(TOOLSET)
    said = {"type": "user.message", "content": [{"type": "text", "text": "Hello"}]}
    assert raw.answer("POST", f"{raw.path}/events", {"events": [said, SYSTEM, SYSTEM]}).status_code == 400
    assert raw.events() == []


def test_answers_may_name_the_thread(raw: Raw) -> None:
    raw.create(ASKING)
    (primary,) = cast("list[Event]", raw.call("GET", f"{raw.path}/threads")["data"])
    thread = {"session_thread_id": primary["id"]}
    raw.say("[tool command='echo one']")
    (use,) = required(raw.wait_idle("requires_action"))
    raw.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": "allow", **thread})
    raw.wait_idle("end_turn")
    raw.say("[slow seconds=600]")
    raw.send({"type": "user.interrupt", **thread})
    raw.wait_idle("end_turn")
    raw.create(TOOLSET, environment=SELF_HOSTED)
    (primary,) = cast("list[Event]", raw.call("GET", f"{raw.path}/threads")["data"])
    raw.say('[custom name=bash input={"command":"uname"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    thread = {"session_thread_id": primary["id"]}
    raw.send({"type": "user.tool_result", "tool_use_id": use, "content": [TEXT], **thread})
    raw.wait_idle("end_turn")


def test_an_update_that_changes_nothing_is_no_event(raw: Raw) -> None:
    raw.create(TOOLSET, title="Old", metadata={"a": "1"})
    raw.call("POST", raw.path, {"title": "Old", "metadata": {"a": "1"}})
    assert raw.events() == []
    raw.call("POST", raw.path, {"title": "New", "metadata": {"a": "1"}})
    updated = only(raw, "session.updated")
    assert updated["title"] == "New"
    assert updated.get("metadata") is None, "only what changed"
    assert updated.get("agent") is None
