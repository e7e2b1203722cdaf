"""`everyagent run --worktree` and `--checkpoints`, and the commands that merge, drop and rewind."""

import json
from pathlib import Path

from command_line import Cli
from tests.managed.git_stage import git

from everyagent.client import Client


def test_a_worktree_is_shown_merged_and_dropped(cli: Cli, client: Client, tmp_path: Path):
    git(tmp_path, "init", "-q", "-b", "main")
    git(tmp_path, "commit", "-qm", "first", "--allow-empty")
    task = '[tool name=bash command="echo agent > new.txt"]'
    begun = cli("run", "mock", task, "--worktree", "--permission-mode", "bypass", "-C", str(tmp_path), "--title", "Fix")
    assert begun.code == 0
    info = client.sessions(limit=1).sessions[0]
    assert f"everyagent sessions worktree {info.session_id}" in begun.err
    assert not (tmp_path / "new.txt").exists()

    shown = cli("sessions", "worktree", info.session_id)
    assert "everyagent/" in shown.out
    assert "new.txt" in shown.out
    assert "main" in cli("sessions", "show", info.session_id).out + shown.out
    refused = cli("sessions", "drop", info.session_id)
    assert refused.code != 0
    assert "new.txt" in refused.err

    assert "new.txt" in cli("sessions", "merge", info.session_id).err
    assert (tmp_path / "new.txt").read_text() == "agent\n"
    assert git(tmp_path, "log", "-1", "--format=%s") == "Fix"
    assert "already" in cli("sessions", "merge", info.session_id).err
    assert cli("sessions", "drop", info.session_id).code == 0
    assert json.loads(cli("sessions", "worktree", info.session_id, "--json").out)["exists"] is False

    cli("run", "mock", task, "--worktree", "--permission-mode", "bypass", "-C", str(tmp_path), "--session", "again")
    assert cli("run", "mock", task, "--worktree", "--session", "again").code == 2
    deleted = cli("sessions", "delete", "again", "--yes")
    assert "no work" not in deleted.err


def test_a_directory_without_a_repository_is_an_error_that_says_what_to_do(cli: Cli, tmp_path: Path):
    refused = cli("run", "mock", "[hello]", "--worktree", "-C", str(tmp_path))
    assert refused.code != 0
    assert "git init" in refused.err


def test_a_rewind_brings_back_files(cli: Cli, client: Client, tmp_path: Path):
    words = ("--checkpoints", "--permission-mode", "bypass", "-C", str(tmp_path), "--session", "rewound")
    assert cli("run", "mock", '[tool name=bash command="echo one > a.txt"]', *words).code == 0
    end = client.session("rewound").event_count
    assert cli("run", "mock", '[tool name=bash command="echo two > a.txt"]', "--session", "rewound").code == 0
    done = cli("sessions", "rewind", "rewound", "--to", str(end))
    assert (done.code, "a.txt" in done.err) == (0, True)
    assert (tmp_path / "a.txt").read_text() == "one\n"
    assert cli("sessions", "rewind", "rewound", "--to", "9999").code != 0
    client.delete("rewound")
