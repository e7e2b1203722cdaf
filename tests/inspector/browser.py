"""A Chromium for the inspector's tests: the machine's, else the distribution's package, else playwright's own.

python tests/inspector/browser.py     sets one up and prints where it is
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

#: Names another browser.
VARIABLE = "EVERYAGENT_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
LIMIT_SECONDS = 600


class NoBrowser(Exception):
    """Says what to do."""


def browser() -> str:
    """The path of a Chromium or Chrome that starts."""
    named = os.environ.get(VARIABLE)
    candidates = [named] if named else [*map(shutil.which, NAMES), *PLACES]
    found = next((path for path in candidates if path and _starts(path)), None) or _playwrights()
    if found:
        return found
    tried: list[str] = []
    for argv in _ways():
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
        tried.append(f"$ {' '.join(argv)}\n{(done.stdout + done.stderr).strip()[-600:]}")
        found = next((path for path in map(shutil.which, NAMES) if path and _starts(path)), None) or _playwrights()
        if found:
            return found
    raise NoBrowser(
        "The inspector's tests need Chromium or Chrome, and none could be set up. Install one, or name it in "
        f"{VARIABLE}. What was tried:\n" + "\n".join(tried)
    )


def _ways() -> list[list[str]]:
    apt = [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]]
    own = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    return (apt if os.geteuid() == 0 and shutil.which("apt-get") else []) + own


def _playwrights() -> str | None:
    """Where playwright keeps what it fetched."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() and _starts(path) else None


def _starts(path: str) -> bool:
    try:
        return subprocess.run([path, "--version"], capture_output=True, timeout=60, check=False).returncode == 0
    except (OSError, subprocess.SubprocessError):
        return False


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{browser()}\n")
    except NoBrowser as problem:
        sys.exit(str(problem))
