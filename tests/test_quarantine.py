"""The quarantine plugin: a listed test does not count, everything else does, and nothing runs twice."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TESTS = """
import pathlib

def ran(name):
    with (pathlib.Path(__file__).parent / f"{name}.runs").open("a") as runs:
        runs.write("x")

def test_flaky():
    ran("flaky")
    assert False

def test_steady():
    ran("steady")
"""


@pytest.fixture(params=["0", "2"], ids=["one process", "two workers"])
def workers(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    pytester.makeini("[pytest]\nxfail_strict = true\ntestpaths = tests\n")
    pytester.mkdir("tests")
    (pytester.path / "tests" / "test_it.py").write_text(TESTS)
    return pytester


def run(project: pytest.Pytester, workers: str, quarantine: str, *arguments: str) -> pytest.RunResult:
    (project.path / "tests" / "quarantine.txt").write_text(quarantine)
    return project.runpytest_subprocess("-p", "xdist", "-p", "tests.quarantine", "-n", workers, *arguments)


def runs(project: pytest.Pytester, test: str) -> int:
    return len((project.path / "tests" / f"{test}.runs").read_text())


def test_a_quarantined_failure_is_reported_but_does_not_fail_the_run(project: pytest.Pytester, workers: str) -> None:
    done = run(project, workers, "# comment\n\ntests/test_it.py::test_flaky fails under load\n")
    done.assert_outcomes(passed=1, xfailed=1)
    done.stdout.fnmatch_lines(["quarantined failed: tests/test_it.py::test_flaky (quarantined: fails under load)"])
    assert done.ret == pytest.ExitCode.OK
    assert runs(project, "flaky") == 1


def test_a_quarantined_pass_is_reported(project: pytest.Pytester, workers: str) -> None:
    quarantine = "tests/test_it.py::test_flaky fails under load\ntests/test_it.py::test_steady failed once\n"
    done = run(project, workers, quarantine)
    done.assert_outcomes(xpassed=1, xfailed=1)
    done.stdout.fnmatch_lines(["quarantined passed: tests/test_it.py::test_steady (quarantined: failed once)"])
    assert done.ret == pytest.ExitCode.OK


def test_an_unlisted_failure_fails_the_run_and_is_not_retried(project: pytest.Pytester, workers: str) -> None:
    done = run(project, workers, "tests/test_it.py::test_steady failed once\n")
    done.assert_outcomes(failed=1, xpassed=1)
    assert done.ret == pytest.ExitCode.TESTS_FAILED
    assert (runs(project, "flaky"), runs(project, "steady")) == (1, 1)


@pytest.mark.parametrize("entry", ["tests/test_it.py::test_gone", "tests/test_gone.py::test_it", "tests/test_it.py"])
def test_an_entry_that_names_no_test_fails_the_run(project: pytest.Pytester, workers: str, entry: str) -> None:
    quarantine = f"tests/test_it.py::test_flaky fails under load\n{entry} fails under load\n"
    done = run(project, workers, quarantine)
    done.assert_outcomes(passed=1, xfailed=1, failed=1)
    assert f"lists {entry}, and there is no such test" in done.stdout.str()
    assert done.ret == pytest.ExitCode.TESTS_FAILED


def test_an_entry_outside_of_the_selection_is_not_stale(project: pytest.Pytester) -> None:
    quarantine = "tests/test_it.py::test_flaky fails under load\n"
    done = run(project, "0", quarantine, "tests/test_it.py::test_steady")
    done.assert_outcomes(passed=1)


def test_an_entry_without_a_reason_is_an_error(project: pytest.Pytester) -> None:
    done = run(project, "0", "tests/test_it.py::test_flaky\n")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert "has no reason" in done.stderr.str()
