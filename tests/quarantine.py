"""A pytest plugin that runs the tests listed in `quarantine.txt` without counting them.

A listed test is a non-strict xfail: it runs once and is reported with its reason. An entry that names no test is an
error, so that the list shrinks with the suite.
"""

from collections.abc import Iterable
from pathlib import Path

import pytest

LIST = "tests/quarantine.txt"
_REASON = "quarantined: "


class StaleEntry(pytest.Item):
    """Stands for an entry that names no collected test, and fails."""

    def __init__(self, *, entry: str, **more: object) -> None:
        super().__init__(**more)  # pyright: ignore[reportArgumentType]
        self._entry = entry

    def runtest(self) -> None:
        pytest.fail(f"{LIST} lists {self._entry}, and there is no such test. Remove or correct the entry.", False)

    def reportinfo(self) -> tuple[Path, None, str]:
        return self.config.rootpath / LIST, None, self._entry


def entries(list_file: Path) -> dict[str, str]:
    """Node ids and reasons. Blank lines and lines that begin with `#` are ignored."""
    if not list_file.exists():
        return {}
    lines = [line.strip() for line in list_file.read_text().splitlines()]
    found: dict[str, str] = {}
    for line in lines:
        if line and not line.startswith("#"):
            # A parameter's id may contain blanks, so the reason begins after its bracket.
            end = line.find("] ") + 1 if "[" in line.split(" ")[0] else line.find(" ")
            if end <= 0 or not line[end:].strip():
                raise pytest.UsageError(f"{list_file}: {line!r} has no reason. Write: <node id> <reason>")
            found[line[:end]] = line[end:].strip()
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    quarantined = entries(config.rootpath / LIST)
    collected = {item.nodeid: item for item in items}
    for node_id, reason in quarantined.items():
        if item := collected.get(node_id):
            item.add_marker(pytest.mark.xfail(reason=_REASON + reason, strict=False), append=False)
        elif _is_selected(config, node_id):
            items.append(StaleEntry.from_parent(session, name=f"quarantine:{node_id}", entry=node_id))


def _is_selected(config: pytest.Config, node_id: str) -> bool:
    """Whether this run was asked for all tests of the entry's file, so that the entry had to be collected."""
    file = config.rootpath / node_id.partition("::")[0]
    if config.getoption("lf", default=False):
        return False
    folders = [config.invocation_params.dir / argument for argument in config.args if "::" not in argument]
    return any(file.is_relative_to(folder) for folder in folders)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for category, outcome in (("xfailed", "failed"), ("xpassed", "passed")):
        for report in _quarantined(terminalreporter.getreports(category)):
            terminalreporter.write_line(f"quarantined {outcome}: {report.nodeid} ({report.wasxfail})")


def _quarantined(reports: Iterable[pytest.TestReport]) -> list[pytest.TestReport]:
    return [report for report in reports if getattr(report, "wasxfail", "").startswith(_REASON)]
