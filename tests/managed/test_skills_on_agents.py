"""The real agents find the skills of their session."""

import json
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from everyagent.agents.claude import program as claude
from everyagent.agents.codex import program as codex
from everyagent.managed.resources.agents.shape import SkillParams
from everyagent.managed.resources.skills.bundle import packed
from tests.agents import stage
from tests.agents.amp.amp_stage import amp_binary
from tests.agents.opencode.opencode_stage import opencode_binary
from tests.managed import services

SKILL = b"---\nname: tidy-corners\ndescription: Tidies corners.\n---\n"


@pytest.fixture
async def workspace(tmp_path: Path) -> Path:
    async with services.managed(tmp_path) as managed:
        skill = await managed.skills.create(packed({"t/SKILL.md": SKILL}), None)
        agent = await services.agent(managed, skills=[SkillParams(type="custom", skill_id=skill.id)])
        prepared = await managed.workspaces.prepare("sesn_1", agent, await services.environment(managed), [])
        return prepared.directory


def output_of(argv: list[str], folder: Path, home: Path, lines: Sequence[object], last: str) -> str:
    """A program's output for these lines, up to the line that contains `last`."""
    home.mkdir()
    nobody = {"ANTHROPIC_API_KEY": "none", "ANTHROPIC_BASE_URL": "http://127.0.0.1:1"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "CODEX_HOME": str(home), **nobody}
    with subprocess.Popen(
        argv, cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as process:
        try:
            assert process.stdin
            assert process.stdout
            for line in lines:
                process.stdin.write(json.dumps(line).encode() + b"\n")
                process.stdin.flush()
            heard = ""
            for line in process.stdout:
                heard += line.decode()
                if last in line.decode():
                    return heard
            raise AssertionError(f"it ended before {last}: {heard}")
        finally:
            process.kill()


async def test_codex_has_the_skills_of_its_session(workspace: Path, tmp_path: Path) -> None:
    binary = stage.tested_binary("codex", codex.BINARY_VARIABLE, codex.pinned(), codex.TESTED_VERSION)
    lines = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": {"name": "test", "version": "1"}}},
        {"method": "initialized"},
        {"id": 2, "method": "skills/list", "params": {"cwds": [str(workspace)]}},
    ]
    assert "Tidies corners." in output_of([binary, "app-server"], workspace, tmp_path / "home", lines, '"id":2')


async def test_claude_has_the_skills_of_its_session(workspace: Path, tmp_path: Path) -> None:
    binary = stage.tested_binary("claude", claude.BINARY_VARIABLE, claude.pinned(), claude.TESTED_VERSION)
    argv = [binary, "--print", "--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
    lines = [{"type": "control_request", "request_id": "1", "request": {"subtype": "initialize"}}]
    assert "Tidies corners." in output_of(argv, workspace, tmp_path / "home", lines, '"request_id":"1"')


def listed(argv: list[str], folder: Path, home: Path) -> str:
    """A program's answer to a request for its skills."""
    home.mkdir()
    folders = {f"XDG_{name.upper()}_HOME": str(home / name) for name in ("config", "data", "state", "cache")}
    nobody = {"AMP_API_KEY": "none", "AMP_URL": "http://127.0.0.1:1"}
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), **folders, **nobody}
    done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=120, check=False)
    return done.stdout + done.stderr


async def test_opencode_has_the_skills_of_its_session(workspace: Path, tmp_path: Path) -> None:
    assert "Tidies corners." in listed([opencode_binary(), "debug", "skill"], workspace, tmp_path / "home")


async def test_amp_has_the_skills_of_its_session(workspace: Path, tmp_path: Path) -> None:
    assert "Tidies corners." in listed([amp_binary(), "skill", "list"], workspace, tmp_path / "home")
