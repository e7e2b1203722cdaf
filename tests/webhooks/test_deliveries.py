"""Webhooks of a real daemon: signed, in order, repeated until they are accepted, and never lost."""

import os
import signal
import threading
from base64 import b64decode
from collections.abc import Iterator
from pathlib import Path

import anthropic
import pytest
from standardwebhooks import WebhookVerificationError

from everyagent.testing.daemon import DaemonProcess
from tests.waiting import wait_until
from tests.webhooks.receiver import Behaviour, Received, Receiver, receiving
from tests.webhooks.sending_daemon import FLAGS, SendingDaemon


@pytest.fixture
def second() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def test_messages_are_verified_by_the_sdk_and_by_standardwebhooks(daemon: SendingDaemon, receiver: Receiver) -> None:
    webhook, secret = daemon.add(receiver)
    session = daemon.session(title="Nightly build")
    daemon.turn(session)
    daemon.until_received(receiver, 1)
    (received,) = receiver.received
    client = anthropic.Anthropic(api_key="unused", webhook_key=secret)
    event = client.beta.webhooks.unwrap(received.body.decode(), headers=received.headers)
    assert event.id == received.id
    assert (event.type, event.data.type, event.data.id) == ("event", "turn.ended", session)
    received.verify(secret)
    with pytest.raises(WebhookVerificationError):
        received._replace(body=received.body.replace(b"Nightly", b"Weekly")).verify(secret)
    assert received.data["session_title"] == "Nightly build"
    assert received.data["event"]["stop_reason"] == "end_turn"
    daemon.remove(webhook)


def test_each_event_has_its_message_in_the_order_of_the_session(daemon: SendingDaemon, receiver: Receiver) -> None:
    webhook, secret = daemon.add(receiver)
    session = daemon.session()
    daemon.send(session, "[ask] [question] [error message=broken]")
    for kind, reply in (("permissions", {"reply": "once"}), ("questions", {"answers": [["a"]]})):
        ask = wait_until(lambda: daemon.call("GET", f"/v1/sessions/{session}/asks")["asks"])[0]
        daemon.call("POST", f"/v1/sessions/{session}/{kind}/{ask['askId']}/reply", reply)
    wait_until(lambda: "turn.ended" in receiver.types())
    daemon.call("POST", f"/v1/sessions/{session}/terminate")
    wait_until(lambda: "session.ended" in receiver.types())
    assert receiver.types(session) == [
        "permission.requested",
        "question.requested",
        "error",
        "turn.ended",
        "session.ended",
    ]
    sequences = [int(str(each.data["sequence"])) for each in receiver.received]
    assert sequences == sorted(sequences)
    assert all("answer_url" not in each.data for each in receiver.received)
    for received in receiver.received:
        received.verify(secret)
    daemon.remove(webhook)


def test_a_budget_that_ends_a_turn_is_announced(daemon: SendingDaemon, receiver: Receiver) -> None:
    webhook, _ = daemon.add(receiver, "budget.reached")
    asked = {"name": "poor", "scopes": ["read", "run"], "budgetUsd": 1e-9}
    secret = str(daemon.call("POST", "/v1/keys", asked)["secret"])
    session = daemon.session()
    poor = {"authorization": f"Bearer {secret}"}
    daemon.call(
        "POST",
        f"/v1/sessions/{session}/messages",
        {"message": "[tool name=bash command=true] [slow seconds=3600]"},
        **poor,
    )
    daemon.until_received(receiver, 1)
    assert receiver.types() == ["budget.reached"]
    assert receiver.received[0].data["event"]["stop_reason"] == "budget"
    daemon.remove(webhook)


def test_a_message_is_sent_again_until_it_is_accepted(daemon: SendingDaemon, receiver: Receiver) -> None:
    faults: list[Behaviour] = ["reset", 500]
    receiver.behave = lambda received: faults.pop(0) if faults else 200
    webhook, secret = daemon.add(receiver)
    daemon.call("PATCH", f"/v1/webhooks/{webhook}", {"name": "changed while it works"})
    session = daemon.session()
    daemon.turn(session)
    daemon.turn(session)
    wait_until(lambda: len(set(receiver.ids())) == 2 or daemon.webhook(webhook)["pausedAt"])
    if daemon.webhook(webhook)["pausedAt"]:  # on a slow machine
        daemon.call("POST", f"/v1/webhooks/{webhook}/replay", {})
        wait_until(lambda: len(set(receiver.ids())) == 2)
    first, *_, last = receiver.ids()
    assert receiver.ids()[:-1] == [first] * (len(receiver.received) - 1)
    assert last != first
    for received in receiver.received:
        received.verify(secret)
    wait_until(lambda: not daemon.webhook(webhook)["failingSince"])
    daemon.remove(webhook)


def test_a_dead_endpoint_is_paused_says_so_and_delays_nobody(
    daemon: SendingDaemon, receiver: Receiver, second: Receiver
) -> None:
    second.behave = lambda received: 503
    dead, _ = daemon.add(second, "turn.ended")
    alive, _ = daemon.add(receiver, "turn.ended")
    session = daemon.session()
    daemon.turn(session)
    paused = daemon.until_paused(dead)
    assert "Every attempt" in str(paused["pauseReason"])
    assert "answered 503" in str(paused["pauseReason"])
    attempts = len(second.received)
    daemon.turn(session)
    daemon.until_received(receiver, 2)
    assert len(second.received) == attempts
    second.behave = lambda received: 200
    daemon.call("PATCH", f"/v1/webhooks/{dead}", {"paused": False})
    wait_until(lambda: second.ids()[attempts:] == receiver.ids(), "what was missed is delivered")
    listed = f"/v1/webhooks/{dead}/deliveries"
    wait_until(lambda: len(daemon.call("GET", listed)["deliveries"]) == 2, "both are stored")
    newest, older = daemon.call("GET", listed)["deliveries"]
    assert (newest["messageId"], older["messageId"]) == (receiver.ids()[1], receiver.ids()[0])
    daemon.call("POST", f"/v1/webhooks/{dead}/replay", {"after": older["cursor"]})
    wait_until(lambda: second.ids()[attempts:] == [*receiver.ids(), receiver.ids()[1]], "from a cursor")
    daemon.remove(dead)
    daemon.remove(alive)


def test_a_hanging_endpoint_delays_neither_another_one_nor_a_session(
    daemon: SendingDaemon, receiver: Receiver, second: Receiver
) -> None:
    second.behave = lambda received: "hang"
    hanging, _ = daemon.add(second, "turn.ended")
    working, _ = daemon.add(receiver, "turn.ended")
    session = daemon.session()
    daemon.turn(session)
    daemon.until_received(second, 1)
    for _ in range(3):
        daemon.turn(session)
    daemon.until_received(receiver, 4)
    assert len(set(second.ids())) == 1
    daemon.remove(hanging)
    daemon.remove(working)


def test_an_endpoint_that_answers_410_is_paused_at_once(daemon: SendingDaemon, receiver: Receiver) -> None:
    receiver.behave = lambda received: 410
    webhook, _ = daemon.add(receiver)
    daemon.turn(daemon.session())
    assert "410" in str(daemon.until_paused(webhook)["pauseReason"])
    assert len(receiver.received) == 1
    daemon.remove(webhook)


def test_a_test_message_reports_what_the_endpoint_answered(daemon: SendingDaemon, receiver: Receiver) -> None:
    webhook, secret = daemon.add(receiver)
    assert daemon.call("POST", f"/v1/webhooks/{webhook}/test")["status"] == 200
    receiver.received[0].verify(secret)
    receiver.behave = lambda received: "redirect"
    assert "redirects are not followed" in str(daemon.call("POST", f"/v1/webhooks/{webhook}/test")["error"])
    daemon.remove(webhook)


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://10.0.0.1/", "--webhook-networks 10.0.0.1"),
        ("https://[fd00::1]/", "--webhook-networks fd00::1"),
        ("https://user:password@example.org/", "no user"),
        ("http://93.184.215.14/", "https"),
        ("https://example.org:99999/", "no address"),
    ],
)
def test_an_address_that_nothing_may_be_sent_to_is_refused(daemon: SendingDaemon, url: str, why: str) -> None:
    refused = daemon.request("POST", "/v1/webhooks", {"url": url})
    assert refused.status_code == 400
    assert why in refused.text


def test_the_secret_of_an_endpoint_is_stored_encrypted(daemon: SendingDaemon, receiver: Receiver) -> None:
    webhook, secret = daemon.add(receiver)
    daemon.call("POST", f"/v1/webhooks/{webhook}/test")
    files = [file for file in daemon.process.data_dir.rglob("*") if file.is_file()]
    stored = b"".join(file.read_bytes() for file in files)
    assert webhook.encode() in stored
    key = b64decode(secret.removeprefix("whsec_"))
    assert key not in stored
    assert secret.removeprefix("whsec_").encode() not in stored
    assert secret not in daemon.request("GET", f"/v1/webhooks/{webhook}").text
    daemon.remove(webhook)


def test_a_workspace_has_at_most_50_webhooks(daemon: SendingDaemon, receiver: Receiver) -> None:
    inside = {"x-everyagent-workspace": "crowded"}
    body = {"url": receiver.url(), "events": ["session.ended"]}
    for _ in range(50):
        daemon.call("POST", "/v1/webhooks", body, **inside)
    assert daemon.request("POST", "/v1/webhooks", body, **inside).status_code == 409
    listed = daemon.call("GET", "/v1/webhooks", **inside)["webhooks"]
    assert len(listed) == 50
    daemon.remove(daemon.add(receiver)[0])  # another workspace has room
    for each in listed:
        daemon.remove(each["webhookId"])


def test_managed_sessions_have_the_names_of_the_managed_api(daemon: SendingDaemon, receiver: Receiver) -> None:
    names = [
        *("session.status_run_started", "session.requires_action", "session.status_rescheduled"),
        *("session.status_idled", "session.status_terminated"),
    ]
    webhook, secret = daemon.add(receiver, *names)
    daemon.turn(daemon.session())  # a session that is not managed makes none of them
    api = "/anthropic/v1"
    agent = daemon.call("POST", f"{api}/agents", {"name": "a", "model": "mock-small"})["id"]
    environment = daemon.call("POST", f"{api}/environments", {"name": "e"})["id"]
    session = daemon.call("POST", f"{api}/sessions", {"agent": agent, "environment_id": environment})["id"]
    text = {"type": "text", "text": "[retry times=1 delay_ms=1] [question]"}
    daemon.call("POST", f"{api}/sessions/{session}/events", {"events": [{"type": "user.message", "content": [text]}]})
    wait_until(lambda: "session.requires_action" in receiver.types(), lambda: receiver.types())
    daemon.call("POST", f"{api}/sessions/{session}/events", {"events": [{"type": "user.interrupt"}]})
    wait_until(lambda: "session.status_idled" in receiver.types(), lambda: receiver.types())
    daemon.call("POST", f"/v1/sessions/{session}/terminate")
    wait_until(lambda: "session.status_terminated" in receiver.types(), lambda: receiver.types())
    client = anthropic.Anthropic(api_key="unused", webhook_key=secret)
    events = [client.beta.webhooks.unwrap(each.body.decode(), headers=each.headers) for each in receiver.received]
    assert [event.data.id for event in events] == [session] * len(events)
    assert [type(event.data).__name__ for event in events] == [
        "BetaWebhookSessionStatusRunStartedEventData",
        "BetaWebhookSessionStatusRescheduledEventData",
        "BetaWebhookSessionRequiresActionEventData",
        "BetaWebhookSessionStatusIdledEventData",
        "BetaWebhookSessionStatusTerminatedEventData",
    ]
    daemon.remove(webhook)


def test_a_kill_between_delivery_and_commit_repeats_the_message_and_loses_none(
    receiver: Receiver, folder: Path
) -> None:
    process = DaemonProcess(folder / "data", *FLAGS)
    process.start()
    daemon = SendingDaemon(process, folder)
    webhook, secret = daemon.add(receiver, "turn.ended")
    session = daemon.session()
    killed = threading.Event()

    def kill(received: Received) -> Behaviour:
        if not killed.is_set():
            os.kill(process.pid, signal.SIGKILL)
            killed.set()
        return 200

    daemon.turn(session)
    daemon.until_received(receiver, 1)
    wait_until(lambda: daemon.webhook(webhook)["lastDelivery"])
    receiver.behave = kill
    daemon.send(session, "one more")
    wait_until(killed.is_set)
    process.kill()
    process.start()
    daemon.turn(session)
    wait_until(lambda: len(set(receiver.ids())) == 3, lambda: receiver.ids())
    first, second, *rest = receiver.ids()
    assert rest == [second, rest[-1]]
    assert len({first, second, rest[-1]}) == 3
    for received in receiver.received:
        received.verify(secret)
    process.stop()


def test_an_endpoint_whose_secret_cannot_be_opened_is_listed_and_can_be_removed(
    receiver: Receiver, folder: Path
) -> None:
    process = DaemonProcess(folder / "data", *FLAGS)
    process.start()
    daemon = SendingDaemon(process, folder)
    webhook, _ = daemon.add(receiver)
    process.stop()
    (process.data_dir / "vault.key").write_bytes(os.urandom(32))
    process.start()
    try:
        assert daemon.webhook(webhook)["url"] == receiver.url()
        failed = daemon.request("POST", f"/v1/webhooks/{webhook}/test")
        assert (failed.status_code, failed.json()["code"]) == (500, "vault")
        daemon.remove(webhook)
        assert daemon.call("GET", "/v1/webhooks")["webhooks"] == []
        assert receiver.received == []
    finally:
        process.stop()
