"""The release workflow: valid by GitHub's schema, with pinned actions, few rights, attestations and an SBOM."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parent.parent
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
RELEASE = ROOT / ".github" / "workflows" / "release.yml"


def jobs() -> dict[str, dict[str, Any]]:
    return yaml.safe_load(RELEASE.read_text())["jobs"]


def test_workflows_are_valid_by_the_schema_of_github() -> None:
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*words, *map(str, WORKFLOWS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_to_commits(workflow: Path) -> None:
    used = re.findall(r"uses: (.+)", workflow.read_text())
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", each)] == []


def test_a_release_has_attestations_and_an_sbom_and_jobs_have_few_rights() -> None:
    found = jobs()
    steps = [step for job in found.values() for step in job["steps"]]
    used = {str(step.get("uses", "")).partition("@")[0] for step in steps}
    assert {"actions/attest-build-provenance", "actions/attest-sbom", "pypa/gh-action-pypi-publish"} <= used
    assert yaml.safe_load(RELEASE.read_text())["permissions"] == {"contents": "read"}
    writing = {name for name, job in found.items() if job["permissions"].get("contents") == "write"}
    assert writing == {"publish"}, "the job that runs code of dependencies cannot write"
    assert all(job["timeout-minutes"] for job in found.values())


def test_the_wheel_is_tried_on_every_python_that_the_package_names() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    named = [each.rpartition(" ")[2] for each in project["classifiers"] if re.search(r":: 3\.\d+$", each)]
    assert jobs()["pythons"]["strategy"]["matrix"]["python"] == named
    assert project["requires-python"] == f">={named[0]}"
    assert "pythons" in jobs()["publish"]["needs"]


def test_its_commands_exist_here() -> None:
    commands = "\n".join(str(step.get("run", "")) for job in jobs().values() for step in job["steps"])
    targets = set(re.findall(r"^([\w./-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    made = {word for line in re.findall(r"\bmake (.+)", commands) for word in line.split()}
    assert made
    assert made <= targets
    assert "requirements.lock" in commands
    assert (ROOT / "requirements.lock").exists()
    version = next(line for line in (ROOT / "pyproject.toml").read_text().splitlines() if line.startswith("version = "))
    assert re.fullmatch(r'version = "\d+\.\d+\.\d+"', version), "the tag is compared with this line"
