"""Anthropic's real SDKs, each version in its own environment that is kept between runs, and flows run in them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from everyagent.agents.packages import npm
from everyagent.testing.daemon import TOKEN
from tests.node_packages import LIMIT_SECONDS, install_once

FLOWS = Path(__file__).parent / "flows"


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The SDK methods that a flow called, and the types of events that it received."""

    methods: list[str]
    events: list[str]


class Sdk(NamedTuple):
    language: Literal["python", "node"]
    version: str

    @property
    def name(self) -> str:
        return f"{self.language}-{self.version}"

    def run(self, flow: str, url: str, **facts: str) -> Report:
        """Run the flow of that name against a daemon. A failed assertion fails here with the flow's output."""
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": os.environ["HOME"],
            "BASE_URL": f"{url}/anthropic",
            "TOKEN": TOKEN,
            "FACTS": json.dumps(facts),
        }
        if self.language == "python":
            argv = [f"{sys.base_prefix}/bin/python3", "-s", str(FLOWS / "run.py"), flow]
            environment["PYTHONPATH"] = str(self.installed())
        else:
            argv = ["node", str(FLOWS / "run.mjs"), flow]
            environment["SDK"] = str(self.installed())
        done = subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        assert done.returncode == 0, f"{self.name} {flow}:\n{done.stdout}\n{done.stderr}"
        return msgspec.json.decode(done.stdout.splitlines()[-1], type=Report)

    def installed(self) -> Path:
        """The SDK's environment, installed once and atomically, also if several processes ask for it."""
        return install_once(self.name, self._install)

    def _install(self, folder: Path) -> list[str]:
        if self.language == "python":
            return [sys.executable, "-m", "pip", "install", "--target", str(folder), f"anthropic=={self.version}"]
        return [
            *npm(),
            "install",
            "--prefix",
            str(folder),
            "--no-audit",
            "--no-fund",
            f"@anthropic-ai/sdk@{self.version}",
        ]


NEWEST = Sdk("python", "2.8.0")
PYTHON = (NEWEST, Sdk("python", "1.17.0"), Sdk("python", "0.97.0"))
NODE = Sdk("node", "1.10.0")
