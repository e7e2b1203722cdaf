"""One message to a receiver that misbehaves, on the wire."""

import ssl
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from everyagent.signatures import decoded_secret, new_secret
from everyagent.webhooks.addresses import AddressRules, networks
from everyagent.webhooks.sender import Attempt, WebhookSender
from tests.certificates import certificate
from tests.webhooks.receiver import Behaviour, Receiver, receiving

SECRET = new_secret()
LOOPBACK = networks("127.0.0.0/8")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


async def sent(rules: AddressRules, url: str, *, limit: float = 30.0, tls: ssl.SSLContext | None = None) -> Attempt:
    sender = WebhookSender(rules, limit=limit, tls=tls)
    try:
        return await sender.send(url, decoded_secret(SECRET), "msg_1", b'{"data":{"type":"x"}}')
    finally:
        await sender.close()


@pytest.mark.parametrize(
    ("behaviour", "status", "error"),
    [
        (204, 204, ""),
        (500, 500, "answered 500"),
        (410, 410, "answered 410"),
        ("redirect", 307, "redirects are not followed"),
        ("reset", None, "Error"),
        ("hang", None, "no answer within 1 seconds"),
    ],
)
async def test_every_behaviour_ends_in_a_result(
    receiver: Receiver, behaviour: Behaviour, status: int | None, error: str
) -> None:
    receiver.behave = lambda received: behaviour
    attempt = await sent(AddressRules(LOOPBACK), receiver.url(), limit=1.0 if behaviour == "hang" else 30.0)
    assert attempt.status == status
    assert error in attempt.error
    assert bool(attempt.error) == bool(error)
    (received,) = receiver.received  # nothing was sent to where a redirect leads
    received.verify(SECRET)


async def test_a_receiver_that_does_not_listen_is_an_error(receiver: Receiver) -> None:
    attempt = await sent(AddressRules(LOOPBACK), "http://127.0.0.1:1/")
    assert attempt.status is None
    assert "ConnectError" in attempt.error


async def test_a_name_that_turns_private_between_two_lookups_is_refused(receiver: Receiver) -> None:
    """DNS rebinding: the address that was checked is the one that is connected to."""
    answers = [["93.184.215.14"], ["127.0.0.1"]]

    async def rebinding(host: str, port: int) -> Sequence[str]:
        return answers.pop(0)

    rules = AddressRules((), rebinding)
    assert await rules.checked("rebind.example", 443, encrypted=True) == ["93.184.215.14"]
    attempt = await sent(rules, f"https://rebind.example:{receiver.port}/")
    assert "127.0.0.1, which is not public" in attempt.error
    assert answers == []
    assert receiver.received == []


async def test_the_checked_address_is_connected_to_and_the_name_is_not_looked_up_again(receiver: Receiver) -> None:
    lookups: list[str] = []

    async def once(host: str, port: int) -> Sequence[str]:
        lookups.append(host)
        return ["127.0.0.1"]

    attempt = await sent(AddressRules(LOOPBACK, once), f"http://hooks.invalid:{receiver.port}/path?query=1")
    assert attempt.status == 200
    assert lookups == ["hooks.invalid"]
    (received,) = receiver.received
    assert received.path == "/path?query=1"
    assert received.headers["host"] == f"hooks.invalid:{receiver.port}"


async def test_certificates_are_checked_for_the_name_not_for_the_address(tmp_path: Path) -> None:
    async def local(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    trusting = certificate(tmp_path, "hooks.example")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(tmp_path / "server.pem")
    rules = AddressRules(LOOPBACK, local)
    with receiving(server) as receiver:
        right = await sent(rules, f"https://hooks.example:{receiver.port}/", tls=trusting)
        wrong = await sent(rules, f"https://other.example:{receiver.port}/", tls=trusting)
        unknown = await sent(rules, f"https://hooks.example:{receiver.port}/")
    assert (right.status, right.error) == (200, "")
    assert "CERTIFICATE_VERIFY_FAILED" in wrong.error
    assert "ConnectError" in unknown.error
    assert len(receiver.received) == 1
