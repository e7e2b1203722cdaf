"""Generated unified diffs, applied by git."""

import subprocess
from pathlib import Path

import pytest

from everyagent.agents import diffs

TEXTS = ["", "one\n", "one", "one\ntwo\nthree\n", "one\nzwei\nthree", "a\x0cb\r\nc\u2028d\n", "\n\n", "x\n" * 300 + "y"]


@pytest.mark.parametrize("after", TEXTS)
@pytest.mark.parametrize("before", TEXTS)
def test_git_apply_turns_the_old_file_into_the_new_one(tmp_path: Path, before: str, after: str) -> None:
    file = tmp_path / "a file"
    file.write_bytes(before.encode())
    diff = diffs.changed("/a file", before, after)
    assert diff.startswith("--- a/a file\n+++ b/a file\n")
    if before != after:
        subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diff.encode(), check=True)
    assert file.read_bytes().decode() == after


@pytest.mark.parametrize("content", [text for text in TEXTS if text])
def test_git_apply_creates_a_new_file(tmp_path: Path, content: str) -> None:
    subprocess.run(["git", "apply", "-"], cwd=tmp_path, input=diffs.created("/it", content).encode(), check=True)
    assert (tmp_path / "it").read_bytes().decode() == content
