"""Runs the examples of `docs/client.md`."""

import re
from pathlib import Path

import pytest
from real_daemon import real_daemon

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text()
EXAMPLES = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)


def test_the_examples_work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    with real_daemon(tmp_path) as daemon:
        monkeypatch.setenv("EVERYAGENT_URL", daemon.url)
        monkeypatch.setenv("EVERYAGENT_TOKEN", daemon.token)
        for example in EXAMPLES:
            exec(compile(example, "docs/client.md", "exec"), {"__name__": "example"})
    said = capsys.readouterr().out
    assert "I am the mock agent" in said
    assert "session.ended" in said
    assert "You answered" in said
