"""The source archive of Anthropic's Python SDK, which has its tests and its examples."""

import sys
import tarfile
from pathlib import Path

from tests.node_packages import install_once

VERSION = "2.8.0"


def unpacked(folder: Path) -> Path:
    """The unpacked source, in this folder."""
    pip = [sys.executable, "-m", "pip", "download", f"anthropic=={VERSION}", "--no-deps", "--no-binary", "anthropic"]
    archive = install_once(f"anthropic-{VERSION}-source", lambda made: [*pip, "--dest", str(made)])
    with tarfile.open(archive / f"anthropic-{VERSION}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    return folder / f"anthropic-{VERSION}"
