"""A runner that hangs in a turn, and goes on after it was given up."""

import os
import signal
from pathlib import Path

from everyagent.model.events import Error, TurnEnded
from tests.pausing import pause
from tests.runner.runner_process import staged
from tests.waiting import wait_until


def test_a_runner_that_hangs_past_its_lease_writes_nothing_any_more(tmp_path: Path):
    with staged(tmp_path, lease="1") as stage:
        stage.create("hung")
        stage.send("hung", "[slow seconds=600]")
        stage.until_agent("hung")
        pause(stage.runner.pid)
        try:
            events = stage.until("hung", "turn.ended")
            assert not stage.connected()
        finally:
            os.kill(stage.runner.pid, signal.SIGCONT)
        (error,) = [event.data for event in events if isinstance(event.data, Error)]
        assert "was not connected for" in error.message
        stage.until_connected()
        wait_until(lambda: "was replaced" in stage.runner.output(), stage.runner.output)
        assert len(stage.events("hung")) == len(events)
        stage.send("hung", "[whoami]")
        stage.until("hung", "turn.ended", 2)
        ends = [event.data.stop_reason for event in stage.check("hung") if isinstance(event.data, TurnEnded)]
        assert ends == ["error", "end_turn"]
