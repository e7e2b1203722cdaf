"""A runner's connection through a proxy, which answers at times in place of the daemon."""

from collections.abc import Callable

import anyio
import httpx2
import msgspec
import pytest

from everyagent.remote import wire
from everyagent.runner.downlink import Downlink, RunnerStopped
from everyagent.runner.uplink import Uplink
from tests.waiting import LIMIT_SECONDS

pytestmark = pytest.mark.anyio
WELCOME = httpx2.Response(200, content=msgspec.json.encode(wire.Welcome(positions=[])) + b"\n")


def problem(status: int, code: str) -> httpx2.Response:
    body = {"type": f"urn:everyagent:error:{code}", "code": code, "detail": f"It is {code}."}
    return httpx2.Response(status, json=body)


class Host:
    async def hello(self) -> wire.Hello:
        return wire.Hello(instance="one", version="1")

    def take(self, message: wire.Command | wire.Welcome | wire.Forget) -> None:
        assert message == wire.Welcome(positions=[])


async def connected(answers: list[httpx2.Response], over: Callable[[], None]) -> None:
    """Connects until `over` ends it, which is called at each welcome; each connect gets the next answer."""
    uplink = Uplink("http://127.0.0.1:1", "rkey_x", b"x" * 32)
    transport = httpx2.MockTransport(lambda _: answers.pop(0))
    uplink.client = httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1:1")
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            await Downlink(Host(), uplink, over, tasks).stay_connected()


@pytest.mark.parametrize(
    "answer",
    [
        *(httpx2.Response(status, text="<html>Go away.</html>") for status in (200, 302, 400, 401, 403, 404, 405, 502)),
        httpx2.Response(200, json={"error": "no such host"}),
        httpx2.Response(404, json={"detail": "no such host"}),
        problem(401, "signature_invalid"),
        problem(503, "unavailable"),
    ],
    ids=lambda answer: f"{answer.status_code} {answer.text[:20]}",
)
async def test_an_answer_of_a_proxy_or_a_wrong_clock_does_not_stop_the_runner(answer: httpx2.Response) -> None:
    class Welcomed(Exception):
        pass

    def over() -> None:
        raise Welcomed

    with pytest.raises(ExceptionGroup) as raised:
        await connected([answer, WELCOME], over)
    assert raised.group_contains(Welcomed)


@pytest.mark.parametrize(
    ("status", "code"), [(401, "runner_key_invalid"), (400, "invalid_request"), (404, "not_found")]
)
async def test_a_final_refusal_of_the_daemon_stops_the_runner(status: int, code: str) -> None:
    with pytest.raises(ExceptionGroup) as raised:
        await connected([problem(status, code)], lambda: None)
    assert raised.group_contains(RunnerStopped, match=f"It is {code}.")
