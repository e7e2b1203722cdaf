"""Private folders of sessions on a runner."""

from pathlib import Path

import anyio

from everyagent.runner.scratch import RunnerScratch
from everyagent.runner.spool import Spool
from tests.runner.runner_process import Stage, staged
from tests.waiting import wait_until


def folders(stage: Stage) -> list[Path]:
    return [*(stage.runner.folder / "data" / "runners").glob("*/scratch/*")]


def test_a_session_leaves_nothing_on_its_runner(tmp_path: Path):
    """Neither one that ends, nor one whose agent was ended before, while the runner was away."""
    with staged(tmp_path, "--idle-timeout", "0.2") as stage:
        for session_id in ("one", "two"):
            stage.create(session_id)
            stage.send(session_id, "[whoami]")
            stage.until(session_id, "turn.ended")
        wait_until(lambda: stage.get("/v1/runners").json()["runners"][0]["sessions"] == 0)
        assert len(folders(stage)) == 2, "an agent that was ended because it was idle has its folder still"
        stage.post("/v1/sessions/one/terminate")
        wait_until(lambda: len(folders(stage)) == 1, stage.runner.output)
        stage.runner.kill()
        stage.post("/v1/sessions/two/terminate")
        stage.runner.start()
        wait_until(lambda: not folders(stage), stage.runner.output)


def test_folders_of_no_session_are_removed_at_the_start(tmp_path: Path):
    spool = Spool(tmp_path / "spool.db")
    scratch = RunnerScratch(tmp_path / "scratch", spool)
    kept = scratch.make("kept")
    for left in ("shared/0123", "older"):
        (tmp_path / "scratch" / left).mkdir(parents=True)
    scratch.sweep()
    assert [*(tmp_path / "scratch").iterdir()] == [kept]
    for session_id in ("kept", "unknown"):
        anyio.run(scratch.remove, session_id)
    assert [*(tmp_path / "scratch").iterdir()] == scratch.sessions() == []
    spool.close()
