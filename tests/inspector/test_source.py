"""The page's source and build: types, unit tests, size, and its place in the wheel."""

import gzip
import os
import subprocess
import sys
import zipfile
from pathlib import Path

from everyagent.api.routes import openapi_json
from everyagent.testing.daemon import DaemonProcess

ROOT = Path(__file__).parents[2]
INSPECTOR = ROOT / "inspector"
MOST_SCRIPT_BYTES = 200_000
GENERATED = ("--default-non-nullable", "false", "--output", "src/api/schema.d.ts")


def run(node: Path, *argv: str) -> None:
    done = subprocess.run([node, *argv], cwd=INSPECTOR, capture_output=True, text=True, timeout=900, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_types_match_the_api(node_tools: Path) -> None:
    (INSPECTOR / "openapi.json").write_bytes(openapi_json())
    run(node_tools, "node_modules/openapi-typescript/bin/cli.js", "openapi.json", *GENERATED)
    run(node_tools, "node_modules/typescript/bin/tsc", "--noEmit")


def test_the_unit_tests_of_the_page_pass(node_tools: Path) -> None:
    run(node_tools, "node_modules/vitest/vitest.mjs", "run")


def test_the_lock_names_no_registry() -> None:
    assert '"resolved"' not in (INSPECTOR / "package-lock.json").read_text()


def test_the_scripts_of_the_page_are_small(built: None) -> None:
    scripts = list((ROOT / "src" / "everyagent" / "inspector").rglob("*.js"))
    assert scripts
    assert sum(len(gzip.compress(script.read_bytes())) for script in scripts) < MOST_SCRIPT_BYTES


def test_the_wheel_holds_the_page_and_serves_it_without_node(built: None, tmp_path: Path) -> None:
    """Builds the wheel as pip would, and runs the package from its unpacked content."""
    build = "from hatchling.build import build_wheel; import sys; build_wheel(sys.argv[1])"
    without_node = {**os.environ, "PATH": "/nowhere"}
    subprocess.run([sys.executable, "-c", build, str(tmp_path)], cwd=ROOT, env=without_node, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    assert "everyagent/inspector/index.html" in names
    assert any(name.endswith(".js.br") for name in names)
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"everyagent"}
    assert not [name for name in names if "scripted" in name]
    zipfile.ZipFile(wheel).extractall(tmp_path / "installed")
    ask = "from everyagent.api import ui; print(len(ui.answer({'path': '/ui/', 'method': 'GET', 'headers': []}).body))"
    environment = {**without_node, "PYTHONPATH": str(tmp_path / "installed")}
    done = subprocess.run(
        [sys.executable, "-c", ask], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert int(done.stdout) > 100


def test_serve_prints_no_token_to_an_output_that_is_no_terminal(tmp_path: Path) -> None:
    daemon = DaemonProcess(tmp_path / "data")
    daemon.start()
    try:
        assert f"inspector  {daemon.url}/ui/\n  token      everyagent token\n" in daemon.output()
    finally:
        daemon.stop()
