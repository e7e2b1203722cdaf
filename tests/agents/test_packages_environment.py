from pathlib import Path

import pytest

from everyagent.agents import packages


def test_a_program_that_is_asked_for_its_version_sees_no_secret_of_the_daemon(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a-secret")
    monkeypatch.setenv("EVERYAGENT_TOKEN", "a-secret")
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv > {tmp_path / 'seen'}\necho 1.2.3\n")
    program.chmod(0o755)
    assert packages.version_of(program) == "1.2.3"
    seen = (tmp_path / "seen").read_text()
    assert "PATH=" in seen
    assert "a-secret" not in seen
