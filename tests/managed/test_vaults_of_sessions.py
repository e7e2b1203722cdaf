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
