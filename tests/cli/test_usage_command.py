"""`everyagent usage`: a table for people, the API's report for programs."""

import msgspec
from command_line import Cli

from everyagent.client import Client


def test_usage_is_shown_by_what_is_asked_for(cli: Cli, client: Client) -> None:
    client.create("counted", agent="mock", model="mock-large", title="Counted")
    turn = client.run_turn("counted", "[text words=10] hello")
    assert turn.usage
    only = ("--session", "counted")
    table = cli("usage", "--by", "model", "--by", "session", *only)
    assert table.code == 0, table.err
    header, row, total = table.out.splitlines()
    assert header.split() == ["MODEL", "SESSION", "SESSIONS", "TURNS", "IN", "OUT", "CACHED", "COST", "WAITED"]
    counts = ["1", "1", str(turn.usage.input_tokens), str(turn.usage.output_tokens), "0"]
    assert row.split()[:7] == ["mock-large", "counted", *counts]
    assert total.split()[:6] == ["total", *counts]
    assert row.split()[7] == total.split()[6] == f"${turn.cost_usd:.4f}"
    report = msgspec.json.decode(cli("usage", "--json", "--days", "2", *only).out)
    assert report["total"]["turns"] == 1
    assert sum(each["turns"] for each in report["sums"]) == 1
    later = msgspec.json.decode(cli("usage", "--json", "--since", "2100-01-01").out)
    assert later["sums"] == []


def test_a_wrong_field_is_wrong_usage(cli: Cli) -> None:
    assert cli("usage", "--by", "colour").code == 2
