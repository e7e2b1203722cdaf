"""Clients that generators make from the OpenAPI document, used on a daemon."""

import os
import subprocess
import sys
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

import httpx2
import pytest

from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess
from tests.compat.rows import passed
from tests.node_packages import LIMIT_SECONDS, install_once, npm_packages

HERE = Path(__file__).parent
INTERPRETER = f"{sys.base_prefix}/bin/python3"
PYTHON = "openapi-python-client==0.29.1"
NODE = ("openapi-typescript@7.13.0", "openapi-fetch@0.17.0", "typescript@5.9.3", "@types/node@22.19.0")


@pytest.fixture(scope="module")
def daemon(tmp_path_factory: pytest.TempPathFactory) -> Generator[DaemonProcess]:
    daemon = DaemonProcess(tmp_path_factory.mktemp("generators") / "data", "--isolation", "none")
    daemon.start()
    yield daemon
    assert daemon.stop() == 0


@pytest.fixture
def document(daemon: DaemonProcess, tmp_path: Path) -> Path:
    answer = httpx2.get(f"{daemon.url}/openapi.json", headers=daemon.headers, verify=NO_TLS)
    (tmp_path / "openapi.json").write_bytes(answer.content)
    return tmp_path / "openapi.json"


def run(words: Sequence[str], folder: Path, environment: Mapping[str, str]) -> str:
    done = subprocess.run(
        words,
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": os.environ["HOME"], **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT_SECONDS,
        check=False,
    )
    assert done.returncode == 0, f"{words}\n{done.stdout}\n{done.stderr}"
    return done.stdout + done.stderr


def generated(document: Path, folder: Path) -> dict[str, str]:
    """Makes the package `everyagent_api` in the folder. Returns the environment for the generator's dependencies."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", PYTHON, "--target"]
    installed = {"PYTHONPATH": str(install_once(PYTHON, lambda made: [*pip, str(made)]))}
    generate = ["-m", "openapi_python_client", "generate", "--meta", "none", "--output-path", "everyagent_api"]
    printed = run([INTERPRETER, "-s", *generate, "--path", str(document)], folder, installed)
    assert "WARNING" not in printed, printed
    return installed


def test_openapi_python_client_reads_the_managed_document(daemon: DaemonProcess, tmp_path: Path) -> None:
    answer = httpx2.get(f"{daemon.url}/anthropic/openapi.json", headers=daemon.headers, verify=NO_TLS)
    (tmp_path / "openapi.json").write_bytes(answer.content)
    installed = generated(tmp_path / "openapi.json", tmp_path)
    run([INTERPRETER, "-s", "-c", "from everyagent_api.api.managed_skills import *"], tmp_path, installed)


def test_the_client_of_openapi_python_client_works(daemon: DaemonProcess, document: Path, tmp_path: Path) -> None:
    installed = generated(document, tmp_path)
    (tmp_path / "calls.py").write_bytes((HERE / "generated_python.py").read_bytes())
    directory = tmp_path / "work"
    directory.mkdir()
    facts = {"URL": daemon.url, "TOKEN": TOKEN, "DIRECTORY": str(directory)}
    run([INTERPRETER, "-s", "calls.py"], tmp_path, installed | facts)
    assert (directory / "up" / "empty.txt").is_file()
    passed("openapi-python-client")


def test_the_types_of_openapi_typescript_work(daemon: DaemonProcess, document: Path, tmp_path: Path) -> None:
    packages = npm_packages("openapi-typescript-7.13.0", *NODE)
    (tmp_path / "node_modules").symlink_to(packages / "node_modules")
    (tmp_path / "package.json").write_text('{"type": "module"}')
    tools = tmp_path / "node_modules" / ".bin"
    printed = run([str(tools / "openapi-typescript"), str(document), "-o", "schema.d.ts"], tmp_path, {})
    assert "warn" not in printed.lower(), printed
    (tmp_path / "calls.ts").write_bytes((HERE / "generated_client.ts").read_bytes())
    strict = ["--strict", "--target", "es2022", "--module", "nodenext", "--skipLibCheck", "--types", "node"]
    run([str(tools / "tsc"), *strict, "calls.ts"], tmp_path, {})
    directory = tmp_path / "work"
    directory.mkdir()
    facts = {"URL": daemon.url, "TOKEN": TOKEN, "DIRECTORY": str(directory)}
    run(["node", "calls.js"], tmp_path, facts)
    assert (directory / "a.txt").read_text() == "text"
    passed("openapi-typescript")
