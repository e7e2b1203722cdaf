"""Limited networking: kept where an agent's own sandbox keeps it, and said where none does."""

import socket
from pathlib import Path

import pytest

from everyagent.testing import scripted_responses as answers
from everyagent.testing.daemon import DaemonProcess
from everyagent.testing.responses_server import ResponsesServer
from tests.agents.codex.codex_stage import CodexSession
from tests.agents.stage import daemon_of
from tests.managed.raw import ASKING, TOOLSET, Raw, required, texts
from tests.managed.test_managed_on_real_agents import SURROUNDINGS

LIMITED = {"type": "cloud", "networking": {"type": "limited"}}
REACH = "python3 -c \"import socket; socket.create_connection(('127.0.0.1', {port}), 5); print('rea' + 'ched')\""


@pytest.mark.parametrize("toolset", [TOOLSET, ASKING], ids=["allowed", "asked for"])
@pytest.mark.parametrize("environment", [None, LIMITED], ids=["unrestricted", "limited"])
def test_codex_runs_its_commands_without_a_network(
    tmp_path: Path, environment: object, toolset: dict[str, object]
) -> None:
    for folder in ("home", "daemon", "agent"):
        (tmp_path / folder).mkdir()
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        daemon_of(tmp_path / "daemon", **SURROUNDINGS["codex"](tmp_path / "home")) as daemon,
        ResponsesServer() as model,
    ):
        command = f"touch made.txt; {REACH.format(port=listener.getsockname()[1])}"
        model.script.add(answers.run(command), answers.say("Tried."))
        agent = CodexSession(daemon, model, tmp_path / "agent")
        agent.configure("[sandbox_workspace_write]\nnetwork_access = true\n")  # the user's own word does not count
        raw = Raw(daemon)
        vaults = [raw.vault(agent.environment())]
        raw.create(toolset, agent="codex", model="gpt-5.5", environment=environment, vault_ids=vaults)
        raw.say("Reach out")
        if toolset is ASKING:
            (use,) = required(raw.wait_idle("requires_action"))
            raw.send({"type": "user.tool_confirmation", "tool_use_id": use, "result": "allow"})
        raw.wait_idle("end_turn")
        assert "Tried." in texts(raw.events())
        (result,) = [event for event in raw.events() if event["type"] == "agent.tool_result"]
        assert ("reached" in str(result["content"])) == (environment is None), result
        assert (daemon.data_dir / "workspaces" / raw.session_id / "made.txt").exists(), "its folder is its own"
        raw.close()


def test_what_is_not_kept_is_said(daemon: DaemonProcess) -> None:
    raw = Raw(daemon)
    none = raw.warnings("/environments", {"name": "no host", "config": LIMITED})
    some = {"type": "cloud", "networking": {"type": "limited", "allowed_hosts": ["example.org"]}}
    hosts = raw.warnings("/environments", {"name": "some hosts", "config": some})
    assert "on the commands of Codex" in none
    assert "is not enforced where hosts are allowed" in hosts
    raw.close()
