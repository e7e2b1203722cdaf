"""The log of a runner while its daemon is away."""

import json

import pytest

from everyagent import logs
from everyagent.runner.outage import Outage


def test_an_outage_is_logged_at_once_then_at_growing_intervals_and_at_its_end(
    capsys: pytest.CaptureFixture[str],
) -> None:
    logs.set_up("json")
    now = 0.0
    outage = Outage(lambda: now)

    def lines() -> list[dict[str, object]]:
        return [json.loads(line) for line in capsys.readouterr().err.splitlines()]

    outage.over()
    assert lines() == []
    outage.failed("refused")
    (lost,) = lines()
    assert (lost["event"], lost["error"]) == ("the connection to the daemon is lost; agents go on", "refused")
    for _ in range(600):
        now += 1
        outage.failed("refused")
    assert [line["seconds"] for line in lines()] == [30, 90, 210, 450]
    outage.over()
    outage.over()
    (back,) = lines()
    assert (back["event"], back["seconds"]) == ("the connection to the daemon is back", 600)
    outage.failed("reset")
    assert [line["error"] for line in lines()] == ["reset"]
