"""The success case of each route."""

import msgspec

from everyagent.api.metrics import Metrics
from tests.api.served import Served


async def test_models_and_modes_of_agents_are_listed(served: Served) -> None:
    assert (await served.client.get("/v1/agents")).json()["agents"][0]["id"] == "mock"
    models = (await served.client.get("/v1/agents/mock/models")).json()
    assert (models["defaultModel"], models["models"][0]["variants"]) == ("mock-1", ["low", "high"])
    modes = (await served.client.get("/v1/agents/mock/modes")).json()
    assert set(modes) == {"modes", "permissionModes"}
    assert (await served.client.post("/v1/agents/mock/install", json={"reinstall": True})).status_code == 204


async def test_a_session_is_created_read_changed_and_deleted(served: Served) -> None:
    made = (await served.client.post("/v1/sessions/mine", json={"agent": "mock"})).json()
    assert (made["healthy"], made["sessionId"]) == (True, "mine")
    shown = (await served.client.get("/v1/sessions/mine")).json()
    assert made == shown | {"healthy": True}
    assert (await served.client.patch("/v1/sessions/mine", json={"title": "x"})).json() == shown
    assert (await served.client.get("/v1/sessions")).json() == {"sessions": [shown], "nextPage": None}
    assert (await served.client.post("/v1/sessions/mine/cancel")).json() == {"cancelled": False}
    alone = "/v1/sessions/mine/subagents/itm_1/cancel"
    assert (await served.client.post(alone)).json() == {"cancelled": True}
    assert (await served.client.post("/v1/sessions/mine/fork", json={"sessionId": "fork"})).json()[
        "sessionId"
    ] == "fork"
    for _ in range(2):
        assert (await served.client.post("/v1/sessions/mine/terminate")).status_code == 204
    assert (await served.client.delete("/v1/sessions/mine")).status_code == 204


async def test_the_response_to_a_message_has_its_item_id(served: Served) -> None:
    served.sessions.add("mine")
    response = await served.client.post("/v1/sessions/mine/messages", json={"message": "hi"})
    assert response.status_code == 204
    assert response.headers["x-item-id"].startswith("itm_")


async def test_a_page_of_events_is_the_stored_bytes(served: Served) -> None:
    served.sessions.add("mine", count=5)
    response = await served.client.get("/v1/sessions/mine/events?offset=1&limit=2")
    stored = served.sessions.bodies["mine"]
    assert response.content == b'{"events":[' + stored[1] + b"," + stored[2] + b'],"hasMore":true,"head":5}'
    empty = await served.client.get("/v1/sessions/mine/events?offset=5")
    assert msgspec.json.decode(empty.content) == {"events": [], "hasMore": False, "head": 5}


async def test_asks_frames_and_search_are_listed(served: Served) -> None:
    served.sessions.add("mine")
    served.sessions.ask("mine", "perm_1")
    for path in ("/v1/asks", "/v1/sessions/mine/asks?pending=true"):
        assert (await served.client.get(path)).json()["asks"][0]["askId"] == "perm_1"
    frames = (await served.client.get("/v1/sessions/mine/frames?offset=0&limit=5")).json()
    assert (frames["frames"][0]["body"], frames["hasMore"]) == ({"a": 1}, False)
    assert (await served.client.get("/v1/search?q=word&session=mine")).json() == {"hits": []}


async def test_exports_are_downloads_that_cannot_run_scripts(served: Served) -> None:
    served.sessions.add("mine")
    for format, media in [
        ("markdown", "text/markdown; charset=utf-8"),
        ("html", "text/html; charset=utf-8"),
        ("jsonl", "application/x-ndjson"),
    ]:
        response = await served.client.get(f"/v1/sessions/mine/export?format={format}")
        assert response.text == f"exported as {format}"
        assert response.headers["content-type"] == media
        assert response.headers["content-disposition"].startswith("attachment")
        assert "sandbox" in response.headers["content-security-policy"]


async def test_metrics_count_requests_and_readers(served: Served) -> None:
    await served.client.get("/v1/health")
    await served.client.get("/v1/nothing")
    text = (await served.client.get("/metrics")).text
    assert 'everyagent_http_requests_total{method="GET",route="/v1/health",status="200"} 1.0' in text
    assert 'route="",status="404"} 1.0' in text
    assert 'everyagent_http_request_seconds_bucket{le="+Inf",method="GET",route="/v1/health"} 1.0' in text
    assert "everyagent_sse_readers 0.0" in text


def test_unknown_http_methods_share_one_metric_label() -> None:
    metrics = Metrics()
    for number in range(100):
        metrics.answered(f"METHOD{number}", "", 405, 0.1)
    assert metrics.exposition().count(b"everyagent_http_requests_total{") == 1
