"""The real Claude Code in a git worktree of its own."""

import pytest
from claude_stage import ClaudeSession
from tests.agents.stage import ON_RUNNER
from tests.managed.git_stage import git
from tests.scripted.messages_replies import call, say

pytestmark = pytest.mark.skipif(ON_RUNNER, reason="a session on a runner cannot have a worktree")


def test_what_it_wrote_and_committed_is_merged(session: ClaudeSession) -> None:
    git(session.workspace, "init", "-q", "-b", "main")
    git(session.workspace, "commit", "-qm", "first", "--allow-empty")
    commit = "git add . && git -c user.name=a -c user.email=a@b commit -qm second && git status --porcelain -b"
    session.model.script.add(
        call("Bash", {"command": f"echo agent > committed.txt && {commit}", "description": "commit"}),
        say("Committed."),
    )
    session.create(permissionMode="bypass", worktree=True)
    place = str(session.info()["directory"])
    session.model.script.add(call("Write", {"file_path": f"{place}/loose.txt", "content": "loose\n"}), say("Written."))
    assert session.turn("Commit a file").stop_reason == "end_turn"
    assert session.turn("Write another").stop_reason == "end_turn"
    assert session.replies() == ["Committed.", "Written."]
    assert git(session.workspace, "status", "--porcelain") == ""
    merged = session.call("POST", f"/sessions/{session.id}/worktree/merge", {}).json()
    assert merged["files"] == ["committed.txt", "loose.txt"]
    assert (session.workspace / "loose.txt").read_text() == "loose\n"
    assert git(session.workspace, "log", "--format=%s").splitlines()[1:] == ["second", "first"]
    session.call("DELETE", f"/sessions/{session.id}/worktree", expect=204)
    assert git(session.workspace, "worktree", "list", "--porcelain").count("worktree ") == 1
