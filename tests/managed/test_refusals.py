"""Error responses for missing and mistyped resources."""

from collections.abc import Generator

import httpx2
import pytest

from everyagent.testing.daemon import NO_TLS, DaemonProcess
from tests.managed.raw import TOOLSET, WEATHER, Event, Raw, required

JUNK = {"type": "base64", "media_type": "image/png", "data": "?"}


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def refusal(daemon: DaemonProcess, method: str, path: str, body: object = None) -> tuple[int, Event]:
    url = f"{daemon.url}/anthropic/v1{path}"
    answer = httpx2.request(method, url, json=body, headers=daemon.headers, timeout=60, verify=NO_TLS)
    return answer.status_code, answer.json()["error"]


@pytest.mark.parametrize(
    ("path", "code"),
    [
        ("/environments/env_no", "environment_not_found"),
        ("/agents/agent_no", "agent_not_found"),
        ("/files/file_no", "file_not_found"),
        ("/sessions/sesn_no", "session_not_found"),
    ],
)
def test_a_404_names_the_resource_type(daemon: DaemonProcess, path: str, code: str) -> None:
    status, error = refusal(daemon, "GET", path)
    assert (status, error["type"]) == (404, "not_found_error")
    assert isinstance(error["details"], dict)
    assert error["details"]["error_code"] == code


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"tools": [{"type": "nope"}]}, "'nope' (at `tools[0].type`). Allowed values: agent_toolset_20260401, "),
        ({"metadata": {"fine": "", "count": 1}}, 'Expected `str`, got `int` (at `metadata["count"]`).'),
    ],
)
def test_an_invalid_body_names_the_key_and_the_allowed_values(
    daemon: DaemonProcess, body: dict[str, object], expected: str
) -> None:
    status, error = refusal(daemon, "POST", "/agents", {"name": "a", "model": "m", **body})
    assert status == 400
    assert expected in str(error["message"])


def test_an_unknown_path_links_to_the_openapi_document(daemon: DaemonProcess) -> None:
    _, error = refusal(daemon, "GET", "/nowhere")
    assert "GET /anthropic/openapi.json" in str(error["message"])


def test_content_of_another_type_is_refused_with_the_clients_field_names(raw: Raw, daemon: DaemonProcess) -> None:
    raw.create(TOOLSET, WEATHER)
    said = {"type": "user.message", "content": [{"type": "image", "source": JUNK}]}
    status, error = refusal(daemon, "POST", f"{raw.path}/events", {"events": [said]})
    assert (status, "`data` of a block" in str(error["message"])) == (400, True)
    raw.say('[custom name=get_weather input={"city":"Oslo"}]')
    (use,) = required(raw.wait_idle("requires_action"))
    source = {"type": "file", "file_id": raw.upload("a.txt", b"no image")}
    result = {
        "type": "user.custom_tool_result",
        "custom_tool_use_id": use,
        "content": [{"type": "image", "source": source}],
    }
    status, error = refusal(daemon, "POST", f"{raw.path}/events", {"events": [result]})
    assert (status, "text/plain" in str(error["message"])) == (400, True)
    assert required(raw.wait_idle("requires_action")) == [use], "it still waits"
