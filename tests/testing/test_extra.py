"""`everyagent.testing` without the packages of its extra."""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_an_import_without_the_extra_names_the_extra() -> None:
    """`-S` leaves out site-packages, so that only the standard library and this package can be imported."""
    argv = [sys.executable, "-S", "-c", "import everyagent.testing"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(argv, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "everyagent.testing needs pytest and hypothesis" in done.stderr
    assert "pip install 'everyagent[testing]'" in done.stderr


def test_the_extra_has_the_bounds_of_the_development_tools() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extra = project["project"]["optional-dependencies"]["testing"]
    assert {each.partition(">=")[0] for each in extra} == {"hypothesis", "pytest"}
    assert set(extra) <= set(project["dependency-groups"]["dev"])
