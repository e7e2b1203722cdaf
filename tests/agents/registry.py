"""A fake npm for tests of installation. It packs given files and records each request."""

import os
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest


def executable(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


def npm_with(files: Mapping[str, str], folder: Path, patch: pytest.MonkeyPatch) -> Path:
    """Install a fake npm whose packages have these files. Returns the file that lists the requested packages."""
    asked = folder / "registry" / "asked"
    with tarfile.open(_made(folder / "registry") / "it.tgz", "w:gz") as archive:
        for name, text in files.items():
            archive.add(executable(folder / "registry" / name, text), name)
    executable(
        folder / "npm" / "npm",
        f'#!/bin/sh\necho "$2" >> {asked}\nwhile [ "$1" != --pack-destination ]; do shift; done\n'
        f'cp {folder}/registry/it.tgz "$2"/\n',
    )
    patch.setenv("PATH", f"{folder / 'npm'}:{os.environ['PATH']}")
    return asked


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
