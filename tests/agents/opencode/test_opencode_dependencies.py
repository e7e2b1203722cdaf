"""The real program in a project that configures it: what is there counts, and nothing is fetched for it unasked."""

from collections.abc import Generator
from pathlib import Path

import pytest
from opencode_stage import OpencodeSession
from tests.agents.closed_proxy import ClosedProxy
from tests.scripted.chat_replies import run, say

AGENT = "---\ndescription: Ours\nmode: primary\n---\nYou are the agent of this project.\n"
TOOL = 'export default { description: "Ours", args: {}, execute: async () => "ours" }\n'


@pytest.fixture
def proxy() -> Generator[ClosedProxy]:
    with ClosedProxy() as closed:
        yield closed


def written(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def test_a_project_with_a_folder_for_opencode_is_heeded_and_nothing_is_fetched(
    alone: OpencodeSession, proxy: ClosedProxy
) -> None:
    project = alone.workspace / ".opencode"
    written(project / "agent" / "build.md", AGENT)
    written(project / "opencode.json", '{"permission":{"bash":"allow"}}')
    alone.model.script.add(run("env | grep -c opencode-ai"), say("Done."))
    alone.create(env=proxy.environment).turn("Hello")
    assert "You are the agent of this project." in alone.model.requests[-1].everything
    (result,) = alone.items("tool_result")
    assert "exit_code=1" in str(result.content[0])
    assert alone.processes("npm") == []
    assert proxy.asked == []
    assert files(project) == {"agent/build.md", "opencode.json", ".gitignore"}
    assert not (alone.home / "config" / "opencode" / "node_modules").exists()


def test_packages_for_a_tool_of_the_project_are_fetched(alone: OpencodeSession, proxy: ClosedProxy) -> None:
    written(alone.workspace / ".opencode" / "tool" / "ours.js", TOOL)
    alone.create(env={**proxy.environment, "npm_config_fetch_retries": "0"}).turn("Hello")
    alone.until(lambda: [line for line in proxy.asked if "registry.npmjs.org" in line])
