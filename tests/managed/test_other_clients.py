"""Requests that clients other than the current SDKs send, answered as those clients expect."""

from collections.abc import Callable

import anthropic
import httpx
import httpx2
import pytest
from httpx_sse import EventSource

from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.compat.rows import passed

Post = Callable[[str, object], httpx2.Response]


@pytest.fixture
def post(daemon: DaemonProcess) -> Post:
    def sent(path: str, body: object) -> httpx2.Response:
        url = f"{daemon.url}/anthropic/v1{path}"
        return httpx2.post(url, json=body, headers=daemon.headers, timeout=60, verify=NO_TLS)

    return sent


@pytest.fixture
def sdk(daemon: DaemonProcess) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=f"{daemon.url}/anthropic", api_key=TOKEN)


def test_anthropic_cloud_is_another_name_of_cloud(post: Post) -> None:
    made = post("/environments", {"name": "older client", "config": {"type": "anthropic_cloud"}})
    assert (made.status_code, made.json()["config"]["type"]) == (200, "cloud")


def test_a_bearer_without_a_server_is_stored_with_a_warning(post: Post) -> None:
    vault = post("/vaults", {"display_name": "keys"}).json()["id"]
    made = post(f"/vaults/{vault}/credentials", {"auth": {"type": "static_bearer", "token": "t0ken-of-a-model"}})
    assert made.status_code == 200
    assert "mcp_server_url is missing" in made.headers["x-everyagent-warning"]


@pytest.mark.parametrize(
    ("auth", "field", "other"),
    [
        ({"type": "static_bearer", "token": "t"}, "mcp_server_url", "https://other.example/mcp"),
        ({"type": "mcp_oauth", "access_token": "t"}, "mcp_server_url", "https://other.example/mcp"),
        (
            {"type": "environment_variable", "secret_value": "t", "networking": {"type": "unrestricted"}},
            "secret_name",
            "OTHER",
        ),
    ],
)
def test_the_server_of_a_credential_cannot_change(post: Post, auth: dict[str, object], field: str, other: str) -> None:
    vault = post("/vaults", {"display_name": "fixed"}).json()["id"]
    own = "NAME" if field == "secret_name" else "https://own.example/mcp"
    made = post(f"/vaults/{vault}/credentials", {"auth": auth | {field: own}}).json()
    path = f"/vaults/{vault}/credentials/{made['id']}"
    refused = post(path, {"auth": {"type": auth["type"], field: other}})
    assert refused.status_code == 400
    assert f"`{field}` cannot change" in refused.json()["error"]["message"]
    assert post(path, {"auth": {"type": auth["type"], field: own}}).status_code == 200


def test_a_credential_shows_its_expiry_as_it_was_sent_and_no_empty_scope(post: Post) -> None:
    vault = post("/vaults", {"display_name": "logins"}).json()["id"]
    endpoint = {"type": "client_secret_post", "client_secret": "s3cret"}
    login = {"client_id": "c", "token_endpoint": "https://a.example/token", "token_endpoint_auth": endpoint}
    auth = {"type": "mcp_oauth", "access_token": "t", "mcp_server_url": "https://a.example/mcp"}
    full = auth | {"refresh": login | {"refresh_token": "r", "scope": "read"}, "expires_at": "2030-01-01T00:00:00.5Z"}
    made = post(f"/vaults/{vault}/credentials", {"auth": full}).json()
    assert (made["auth"]["expires_at"], made["auth"]["refresh"]["scope"]) == ("2030-01-01T00:00:00.500000Z", "read")
    change = {"type": "mcp_oauth", "expires_at": "2030-02-01T00:00:00Z", "refresh": {"scope": None}}
    updated = post(f"/vaults/{vault}/credentials/{made['id']}", {"auth": change}).json()
    assert updated["auth"]["expires_at"] == "2030-02-01T00:00:00Z"
    assert "scope" not in updated["auth"]["refresh"]


def test_a_relative_mount_path_lies_below_the_uploads(daemon: DaemonProcess, sdk: anthropic.Anthropic) -> None:
    agent = sdk.beta.agents.create(name="a", model="mock", metadata={"everyagent.agent": "mock"})
    environment = sdk.beta.environments.create(name="mounts")
    file = sdk.beta.files.upload(file=("data.csv", b"1,2"))
    session = sdk.beta.sessions.create(
        agent=agent.id,
        environment_id=environment.id,
        resources=[{"type": "file", "file_id": file.id, "mount_path": "tables/data.csv"}],
    )
    (resource,) = session.resources
    assert getattr(resource, "mount_path", None) == "/mnt/session/uploads/tables/data.csv"


def test_a_405_names_the_allowed_methods(daemon: DaemonProcess) -> None:
    url = f"{daemon.url}/anthropic/v1/environments"
    answer = httpx2.delete(url, headers=daemon.headers, verify=NO_TLS)
    assert (answer.status_code, answer.headers["allow"]) == (405, "GET, HEAD, POST")


def test_the_models_of_all_agents_are_listed_and_found(sdk: anthropic.Anthropic) -> None:
    models = {model.id: model for model in sdk.models.list(limit=1000)}
    assert "mock-small" in models
    for found in (next(iter(models.values())), models["mock-small"]):
        assert sdk.models.retrieve(found.id) == found
    first = sdk.models.list(limit=1)
    assert [model.id for model in first] == list(models)
    with pytest.raises(anthropic.NotFoundError):
        sdk.models.retrieve("no/such")


def test_health_has_the_name_that_load_balancers_use(daemon: DaemonProcess) -> None:
    assert httpx2.get(f"{daemon.url}/healthz", verify=NO_TLS).json()["status"] == "ok"


def test_httpx_sse_sees_no_event_before_the_first(daemon: DaemonProcess) -> None:
    with httpx.Client(base_url=daemon.url, headers=daemon.headers, timeout=60, verify=NO_TLS) as client:
        client.post("/v1/sessions/sse-client", json={"agent": "mock"}).raise_for_status()
        with client.stream("GET", "/v1/sessions/sse-client/events/sse") as response:
            event = next(EventSource(response).iter_sse())
    assert (event.id, event.json()["type"], event.retry) == ("1", "session.started", 1000)
    passed("httpx-sse")
