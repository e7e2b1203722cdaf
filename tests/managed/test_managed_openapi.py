"""The OpenAPI document of the Managed Agents API matches its routes."""

import re

import httpx2
import jsonschema_rs
import msgspec
from schemathesis.specs.openapi.definitions import OPENAPI_31_VALIDATOR

from everyagent.api.managed.document import managed_document
from everyagent.api.managed.routes import ROUTES
from everyagent.testing.daemon import DaemonProcess
from tests.managed.documented import documented


def test_every_route_is_in_the_document() -> None:
    paths = msgspec.convert(managed_document()["paths"], dict[str, dict[str, object]])
    described = {(method.upper(), path) for path, methods in paths.items() for method in methods}
    assert described == {(route.method, route.path.replace(":path}", "}")) for route in ROUTES}
    assert len({route.name for route in ROUTES}) == len(ROUTES)
    assert all(route.handler.__doc__ for route in ROUTES)


def test_the_document_is_valid_and_whole() -> None:
    document = msgspec.json.encode(managed_document()).decode()
    schemas = msgspec.convert(managed_document()["components"], dict[str, dict[str, dict[str, object]]])["schemas"]
    assert set(re.findall(r'"#/components/schemas/([^"]+)"', document)) <= set(schemas)
    assert not list(OPENAPI_31_VALIDATOR.iter_errors(managed_document()))
    for name, schema in schemas.items():
        assert jsonschema_rs.meta.is_valid(schema), name


def test_errors_match_the_document(daemon: DaemonProcess) -> None:
    components = msgspec.convert(managed_document()["components"], dict[str, dict[str, dict[str, object]]])
    schema = components["schemas"]["ErrorEnvelope"] | {"components": {"schemas": components["schemas"]}}
    validator = jsonschema_rs.validator_for(schema)
    with httpx2.Client(base_url=f"{daemon.url}/anthropic", headers=daemon.headers) as client:
        assert client.get("/openapi.json").json() == msgspec.json.decode(msgspec.json.encode(managed_document()))
        answers = [
            client.get("/v1/agents/nobody"),
            client.get("/v1/nowhere"),
            client.delete("/v1/agents"),
            client.post("/v1/agents", json={"name": 1}),
            client.post("/v1/agents", content=b"{", headers={"content-type": "application/json"}),
            client.post("/v1/agents", content=b"name=a", headers={"content-type": "text/plain"}),
            client.post("/v1/files", json={}),
            client.get("/v1/agents?limit=0"),
            client.get("/v1/agents", headers={"authorization": "Bearer wrong"}),
        ]
    assert [answer.status_code for answer in answers] == [404, 404, 405, 400, 400, 415, 415, 400, 401]
    for answer in answers:
        assert validator.is_valid(answer.json()), answer.text
        assert answer.headers["request-id"] == answer.json()["request_id"]


def test_malformed_forms_are_refused(daemon: DaemonProcess) -> None:
    form = {"content-type": "multipart/form-data; boundary=b"}
    with httpx2.Client(base_url=f"{daemon.url}/anthropic", headers=daemon.headers) as client:
        for content in (
            b"",
            b"--b\r\n",
            b"--b\r\nContent-Disposition: form-data; name=file\r\n\r\ncut off",
            b"--wrong\r\n\r\n--wrong--",
            b'--b\r\nContent-Disposition: form-data; name="file"; filename=".."\r\n\r\nx\r\n--b--\r\n',
            b"--b\r\n" + b"X: y\r\n" * 1000 + b"\r\n--b--",
        ):
            answer = client.post("/v1/files", content=content, headers=form)
            assert answer.status_code == 400, (content[:60], answer.text)


def test_a_404_is_documented_where_a_body_names_something_unknown(daemon: DaemonProcess) -> None:
    message = {"type": "user.message", "content": [{"type": "text", "text": "Hello"}]}
    bodies: dict[str, dict[str, object]] = {
        "/v1/sessions": {"agent": "agent_none", "environment_id": "env_none"},
        "/v1/deployments": {
            "name": "A",
            "agent": "agent_none",
            "environment_id": "env_none",
            "initial_events": [message],
        },
    }
    with httpx2.Client(base_url=f"{daemon.url}/anthropic", headers=daemon.headers) as client:
        for path, body in bodies.items():
            assert client.post(path, json=body).status_code == 404, path
            assert 404 in documented("POST", f"/anthropic{path}"), path
