"""Repeated requests with an Idempotency-Key have no second effect."""

import anyio
import httpx2
import pytest

from everyagent.errors import KeyReused, StorageFull
from everyagent.sessions import Receipt
from tests.api.served import Served


def key(value: str = "k-1") -> dict[str, str]:
    return {"idempotency-key": value}


async def test_a_repeated_request_gets_the_first_response_again(served: Served) -> None:
    first = await served.client.post("/v1/sessions", json={"agent": "mock"}, headers=key())
    again = await served.client.post("/v1/sessions", json={"agent": "mock"}, headers=key())
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["content-type"] == first.headers["content-type"]
    assert again.headers["idempotent-replayed"] == "true"
    assert "idempotent-replayed" not in first.headers
    assert len(served.sessions.effects) == 1


async def test_headers_of_the_first_response_are_repeated(served: Served) -> None:
    served.sessions.add("mine")
    send = {"message": "hi"}
    first = await served.client.post("/v1/sessions/mine/messages", json=send, headers=key())
    again = await served.client.post("/v1/sessions/mine/messages", json=send, headers=key())
    assert again.status_code == 204
    assert again.headers["x-item-id"] == first.headers["x-item-id"]
    assert served.sessions.effects == ["send hi"]


@pytest.mark.parametrize(
    ("path", "body"),
    [("/v1/sessions/mine/messages", {"message": "other"}), ("/v1/sessions/mine/cancel", None)],
)
async def test_a_key_with_another_request_is_409(served: Served, path: str, body: dict[str, str] | None) -> None:
    served.sessions.add("mine")
    await served.client.post("/v1/sessions/mine/messages", json={"message": "hi"}, headers=key())
    response = await served.client.post(path, json=body or {}, headers=key())
    assert (response.status_code, response.json()["code"]) == (409, "idempotency_key_reused")
    assert served.sessions.effects == ["send hi"]


async def test_a_query_is_part_of_the_request(served: Served) -> None:
    served.sessions.add("mine")
    for path, status in [("a", 200), ("a", 200), ("b", 409)]:
        response = await served.client.post(f"/v1/fs/mkdir?sessionId=mine&path={path}", headers=key())
        assert response.status_code == status


async def test_a_concurrent_request_with_the_same_key_waits_for_the_first(served: Served) -> None:
    served.sessions.gate = anyio.Event()
    answers: list[httpx2.Response] = []

    async def create() -> None:
        answers.append(await served.client.post("/v1/sessions", headers=key()))

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            for _ in range(5):
                tasks.start_soon(create)
            while len(served.app._idempotency._running) == 0:
                await anyio.sleep(0.001)
            served.sessions.gate.set()
    assert len(served.sessions.effects) == 1
    assert len({answer.content for answer in answers}) == 1
    assert sum("idempotent-replayed" in answer.headers for answer in answers) == 4


async def test_a_failed_request_stores_no_receipt(served: Served) -> None:
    served.sessions.failure = StorageFull("The disk is full.")
    assert (await served.client.post("/v1/sessions", headers=key())).status_code == 507
    assert (await served.client.post("/v1/sessions", headers=key())).status_code == 200


@pytest.mark.parametrize("value", ["", "a b", "ä", "x" * 256])
async def test_a_key_is_1_to_255_visible_characters(served: Served, value: str) -> None:
    response = await served.client.post("/v1/sessions", headers={b"idempotency-key": value.encode()})
    assert (response.status_code, response.json()["field"]) == (400, "Idempotency-Key")


async def test_a_repeated_streamed_turn_is_streamed_again_and_not_started_twice(served: Served) -> None:
    served.sessions.add("mine")
    url = "/v1/sessions/mine/messages/stream"
    first = await served.client.post(url, json={"message": "hi"}, headers=key())
    again = await served.client.post(url, json={"message": "hi"}, headers=key())
    assert (first.status_code, again.status_code) == (200, 200)
    assert again.content == first.content
    assert (await served.client.post(url, json={"message": "ho"}, headers=key())).status_code == 409
    assert served.sessions.effects == ["send hi"]


async def test_a_request_that_another_node_committed_after_the_first_look_gets_its_response(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    served.sessions.add("mine")
    first = await served.client.post("/v1/sessions/mine/messages", json={"message": "hi"}, headers=key())
    looks = [None, served.sessions.receipts["k-1"]]

    async def receipt(_key: str) -> Receipt | None:
        return looks.pop(0)

    async def send(*_: object) -> str:
        raise KeyReused("committed meanwhile")

    monkeypatch.setattr(served.sessions, "receipt", receipt)
    monkeypatch.setattr(served.sessions, "send", send)
    again = await served.client.post("/v1/sessions/mine/messages", json={"message": "hi"}, headers=key())
    assert (again.status_code, again.headers["x-item-id"]) == (204, first.headers["x-item-id"])
    assert served.sessions.effects == ["send hi"]
