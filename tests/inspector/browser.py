"""Finds or installs Chromium for the inspector's tests: the system's, by apt, or playwright's.

python tests/inspector/browser.py     prints its path
"""

import os
import shutil
import subprocess
import sys

#: The environment variable that names a browser.
VARIABLE = "EVERYAGENT_BROWSER"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PLACES = (
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
    "/Applications/Chromium.app/Contents/MacOS/Chromium",
)
LIMIT_SECONDS = 600
_ASK = """from playwright.sync_api import sync_playwright
with sync_playwright() as playwright:
    print(playwright.chromium.executable_path)"""


class NoBrowser(Exception):
    """No browser was found or could be installed; the text says what to do."""


def browser() -> str:
    """The path of a Chromium or Chrome that starts."""
    named = os.environ.get(VARIABLE)
    if named:
        if _starts(named):
            return named
        raise NoBrowser(f"{VARIABLE} names {named!r}, which does not start. Name another, or unset it.")
    if found := _installed():
        return found
    tried: list[str] = []
    for argv in _ways():
        tried.append(f"$ {' '.join(argv)}\n{_output(argv)}")
        if found := _installed():
            return found
    raise NoBrowser(
        "The inspector's tests need Chromium or Chrome, and none could be set up. Install one, or name it in "
        f"{VARIABLE}. What was tried:\n" + "\n".join(tried)
    )


def _installed() -> str | None:
    candidates = (*map(shutil.which, NAMES), *PLACES)
    return next((path for path in candidates if path and _starts(path)), None) or _playwright_path()


def _output(argv: list[str]) -> str:
    """The end of a command's output, or the reason why it did not run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError) as problem:
        return str(problem)
    return f"{(done.stdout + done.stderr).strip()[-600:]}\nexit code {done.returncode}"


def _ways() -> list[list[str]]:
    apt = [["apt-get", "update", "-qq"], ["apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"]]
    own = [[sys.executable, "-m", "playwright", "install", "chromium"]]
    return (apt if os.geteuid() == 0 and shutil.which("apt-get") else []) + own


def _playwright_path() -> str | None:
    """Playwright's own Chromium, if it is installed. A subprocess asks, to keep greenlets out of pytest."""
    done = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, timeout=60, check=False)
    path = done.stdout.strip()
    return path if path and _starts(path) else None


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
