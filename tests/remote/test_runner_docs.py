"""Checks the threat table of `docs/runners.md`."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_test_of_the_threat_table_exists() -> None:
    page = (ROOT / "docs" / "runners.md").read_text()
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", page)
    assert len(named) > 10
    assert [(file, name) for file, name in named if f"def {name}(" not in (ROOT / file).read_text()] == []
    rows = page.partition("| threat |")[2].partition("\n\n")[0].splitlines()[2:]
    assert [row for row in rows if "::test_" not in row] == []
