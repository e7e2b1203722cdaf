"""A runner that cannot go on: it says why in a sentence, and ends."""

from pathlib import Path

from tests.runner.runner_process import RunnerProcess, staged
from tests.waiting import LIMIT_SECONDS


def test_a_runner_whose_key_was_revoked_ends_with_a_sentence(tmp_path: Path):
    with staged(tmp_path) as stage:
        made = stage.post("/v1/runner-keys", {"name": "other"}).json()
        stage.http.delete(f"{stage.daemon.url}/v1/runner-keys/{made['key']['keyId']}").raise_for_status()
        other = RunnerProcess(tmp_path / "other", stage.link.url, made["secret"])
        other.start()
        assert other.process
        assert other.process.wait(LIMIT_SECONDS) == 1
        assert "The runner's key is unknown or revoked." in other.output()
        assert "Traceback" not in other.output()
