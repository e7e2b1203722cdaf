"""Runs the examples of `docs/cli.md`."""

import re
import subprocess
import sys
from pathlib import Path

from command_line import Daemon, environment

PAGE = (Path(__file__).parents[2] / "docs" / "cli.md").read_text()


def test_the_examples_work(daemon: Daemon, tmp_path: Path):
    command = tmp_path / "everyagent"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from everyagent.cli.main import main; main()" "$@"\n')
    command.chmod(0o700)
    given = environment(daemon.data_dir)
    given["PATH"] = f"{tmp_path}:{given['PATH']}"
    for example in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL):
        done = subprocess.run(["sh", "-e"], input=example.encode(), env=given, cwd=tmp_path, capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
