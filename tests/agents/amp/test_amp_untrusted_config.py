"""Refusal of directory settings and skills that run tools without asking."""

import json
from pathlib import Path

import pytest
from amp_stage import AmpSession
from tests.scripted.amp_replies import call, say

from everyagent.agents.amp import untrusted_config
from everyagent.agents.amp.settings import Settings
from everyagent.errors import AgentFailed
from everyagent.model.events import Error, PermissionRequested, TurnEnded
from everyagent.model.policies import UNRESTRICTED, ToolPolicies

TOUCH = {"command": "touch made.txt"}
ALLOW = {"amp.permissions": [{"tool": "shell_command", "action": "allow"}]}
READING = {"amp.permissions": [{"tool": "Read", "action": "allow"}]}
SKILL = "---\nname: ours\ndescription: Ours\n---\nDo it.\n"
ASKING = ("default", "acceptEdits", "plan")


def written(path: Path, what: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(what if isinstance(what, str) else json.dumps(what))
    return path


def refused(directory: Path, mode: str, policies: ToolPolicies = UNRESTRICTED, user: Settings | None = None) -> str:
    """The reason for a refusal, or an empty string."""
    try:
        untrusted_config.refuse(directory, mode, policies, user or {}, {"HOME": str(directory.parents[1])})
    except AgentFailed as failure:
        return failure.detail
    return ""


# -- refused rules and skills -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("found", "rule"),
    [
        ({"amp.dangerouslyAllowAll": True}, "amp.dangerouslyAllowAll"),
        (ALLOW, '`amp.permissions`, rule 1: {"tool":"shell_command","action":"allow"}'),
        ({"amp.permissions": [1, {"tool": "*", "action": "reject"}, {"tool": "x", "action": "delegate"}]}, "rule 2"),
        ({"amp.mcpPermissions": [{"matches": {"command": "*"}, "action": "allow"}]}, "amp.mcpPermissions"),
        ({"amp.permissions": [{"tool": "*", "action": "reject"}, {"tool": "*", "action": "ask"}]}, ""),
        ({"amp.permissions": "allow"}, ""),
        (READING, ""),
        ({}, ""),
    ],
)
@pytest.mark.parametrize("name", ["settings.json", "settings.jsonc"])
def test_a_directory_rule_that_allows_tools_is_refused_except_in_bypass_mode(
    tmp_path: Path, found: object, rule: str, name: str
) -> None:
    """Also from a folder inside the repository."""
    (tmp_path / ".git").mkdir()
    file = written(tmp_path / ".amp" / name, found)
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    for mode in ASKING:
        why = refused(inside, mode)
        assert (str(file) in why and rule in why) if rule else not why
    assert not refused(inside, "bypass")


def test_with_policies_rules_are_refused_also_in_bypass_mode_and_for_reading(tmp_path: Path) -> None:
    directory = tmp_path / "a" / "b"
    written(directory / ".amp" / "settings.json", READING)
    policies = ToolPolicies(default="ask")
    assert not refused(directory, "default")
    assert "take the tool policies back" in refused(directory, "bypass", policies)
    written(directory / ".amp" / "settings.json", {})
    delegate: Settings = {"amp.permissions": [{"tool": "x", "action": "delegate", "to": "/bin/true"}]}
    assert not refused(directory, "bypass", user=delegate)
    assert "The user's own" in refused(directory, "bypass", policies, delegate)


def test_settings_above_the_repository_are_ignored(tmp_path: Path) -> None:
    written(tmp_path / ".amp" / "settings.json", ALLOW)
    repository = tmp_path / "a" / "b"
    (repository / ".git").mkdir(parents=True)
    assert not refused(repository, "default")


@pytest.mark.parametrize("skills", [".agents/skills", ".claude/skills"])
def test_mcp_servers_of_directory_skills_are_refused_and_those_of_user_skills_are_not(
    tmp_path: Path, skills: str
) -> None:
    directory = tmp_path / "a" / "b"
    directory.mkdir(parents=True)
    written(tmp_path / skills / "mine" / "mcp.json", {})
    assert not refused(directory, "default")
    servers = written(tmp_path / "a" / skills / "ours" / "mcp.json", {})
    assert str(servers) in refused(directory, "default")
    own: Settings = {"amp.mcpPermissions": [{"matches": {"command": "*"}, "action": "allow"}]}
    assert not refused(directory, "default", user=own)


# -- with the real program ----------------------------------------------------------------------------------------


def test_a_directory_rule_that_allows_tools_stops_the_session_except_in_bypass_mode(session: AmpSession) -> None:
    file = written(session.workspace / ".amp" / "settings.json", ALLOW)
    session.model.script.add(call("shell_command", TOUCH), say("Made."), say("Again."))
    ended = session.create().turn("Make it")
    assert ended.stop_reason == "error"
    (error,) = session.all(Error)
    assert str(file) in error.message
    assert '"action":"allow"' in error.message
    assert session.agents() == []
    session.change(permissionMode="bypass")
    assert session.turn("Make it").stop_reason == "end_turn"
    assert (session.workspace / "made.txt").exists()
    session.change(permissionMode="default")
    assert session.turn("Again").stop_reason == "error"
    file.unlink()
    assert session.turn("Again").stop_reason == "end_turn"


def test_mcp_servers_of_a_directory_skill_are_started_only_in_bypass_mode(session: AmpSession) -> None:
    ran = session.workspace / "ran.txt"
    skill = session.workspace / ".agents" / "skills" / "ours"
    written(skill / "SKILL.md", SKILL)
    servers = written(skill / "mcp.json", {"ours": {"command": "sh", "args": ["-c", f"touch {ran}; cat"]}})
    session.model.script.add(say("Hello."))
    assert session.create().turn("Hello").stop_reason == "error"
    assert str(servers) in session.all(Error)[0].message
    assert not ran.exists()
    session.change(permissionMode="bypass")
    assert session.turn("Hello").stop_reason == "end_turn"
    session.until(ran.exists)


def test_an_allow_rule_of_the_user_lets_a_tool_run(session: AmpSession) -> None:
    written(session.home / ".config" / "amp" / "settings.json", ALLOW)
    session.model.script.add(call("shell_command", TOUCH), say("Made."))
    assert session.create().turn("Make it").stop_reason == "end_turn"
    assert (session.workspace / "made.txt").exists()
    assert session.all(PermissionRequested) == []
    assert len(session.all(TurnEnded)) == 1
