"""The vaults of a session can be changed while it is idle."""

from collections.abc import Generator

import pytest

from everyagent.testing.daemon import DaemonProcess
from tests.managed.raw import TOOLSET, Raw, texts

NAMES = ("FIRST_KEY", "SECOND_KEY")


@pytest.fixture
def raw(daemon: DaemonProcess) -> Generator[Raw]:
    client = Raw(daemon)
    yield client
    client.close()


def test_the_agent_is_started_again_with_the_new_vaults(raw: Raw) -> None:
    vaults = [raw.vault({name: f"value of {name}"}) for name in NAMES]
    raw.create(TOOLSET, vault_ids=[vaults[0]])
    given: list[list[str]] = []
    for vault in vaults:
        assert raw.call("POST", raw.path, {"vault_ids": [vault]})["vault_ids"] == [vault]
        before = len(raw.events())
        raw.say("[whoami]")
        raw.wait_idle("end_turn")
        given.append([name for name in NAMES if name in texts(raw.events()[before:])])
    assert given == [["FIRST_KEY"], ["SECOND_KEY"]]
    assert not [event for event in raw.events() if event["type"] == "session.updated"], "no field of this event"


def test_vaults_must_exist_and_the_session_be_idle(raw: Raw) -> None:
    vault = raw.vault({"KEY": "its value"})
    raw.create(TOOLSET)
    assert raw.answer("POST", raw.path, {"vault_ids": ["vlt_unknown"]}).status_code == 404
    raw.say("[hang]")
    assert raw.answer("POST", raw.path, {"vault_ids": [vault]}).status_code == 409
    assert raw.call("GET", raw.path)["vault_ids"] == []
    raw.send({"type": "user.interrupt"})
    raw.wait_idle("end_turn")


def restricted(raw: Raw, vault: str, **restrictions: object) -> str:
    """The path of a new variable of the vault."""
    auth = {"type": "environment_variable", "secret_name": "KEY", "secret_value": "its value", **restrictions}
    path = f"/vaults/{vault}/credentials"
    credential = raw.call("POST", path, {"auth": {"networking": {"type": "unrestricted"}, **auth}})
    return f"{path}/{credential['id']}"


ONLY = {"type": "limited", "allowed_hosts": ["example.org"]}
KEPT = "of the variable KEY is kept and not applied: agents get the plain value"


@pytest.mark.parametrize(
    ("restrictions", "named"),
    [
        ({"networking": ONLY}, "`networking`"),
        ({"injection_location": {"header": True, "body": False}}, "`injection_location`"),
        (
            {"networking": ONLY, "injection_location": {"header": False, "body": True}},
            "`networking`, `injection_location`",
        ),
    ],
)
def test_restrictions_that_are_not_applied_are_named(raw: Raw, restrictions: dict[str, object], named: str) -> None:
    vaults = [raw.vault({}), raw.vault({})]
    auth = {"type": "environment_variable", "secret_name": "KEY", "secret_value": "its value"}
    body = {"auth": {"networking": {"type": "unrestricted"}, **auth, **restrictions}}
    assert f"{named} {KEPT}" in raw.warnings(f"/vaults/{vaults[0]}/credentials", body)
    path = restricted(raw, vaults[1])
    update = {"auth": {"type": "environment_variable", **restrictions}}
    assert f"{named} {KEPT}" in raw.warnings(path, update)
    raw.create(TOOLSET)
    session = raw.call("GET", raw.path)
    agent, place = session["agent"], session["environment_id"]
    assert isinstance(agent, dict)
    for vault in vaults:
        created = {"agent": agent["id"], "environment_id": place, "vault_ids": [vault]}
        assert f"{named} {KEPT}" in raw.warnings("/sessions", created)
        assert f"{named} {KEPT}" in raw.warnings(raw.path, {"vault_ids": [vault]})


def test_variables_for_every_host_are_given_without_a_warning(raw: Raw) -> None:
    vault = raw.vault({"KEY": "its value"})
    raw.create(TOOLSET)
    updated = raw.answer("POST", raw.path, {"vault_ids": [vault]})
    assert updated.status_code == 200
    assert "x-everyagent-warning" not in updated.headers
