"""A real OpenID provider (npm `oidc-provider`) in a process, installed once and kept between runs."""

import fcntl
import json
import runpy
import shutil
import subprocess
import tempfile
from pathlib import Path

VERSION = "9.13.3"
CACHE = Path.home() / ".cache" / "everyagent" / "oidc"
CLIENT_ID = "everyagent"
CLIENT_SECRET = "the-secret-of-the-client"
_ROOT = Path(__file__).parents[2]
_INSTALL_SECONDS = 300


class OidcProcess:
    def __init__(self) -> None:
        build = runpy.run_path(str(_ROOT / "inspector" / "build.py"))
        node: Path = build["node"]()
        installed = _installed(build["npm"](node), build["environment"](node))
        script = Path(__file__).with_name("oidc_provider.mjs")
        self._process = subprocess.Popen(
            [node, script, installed],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.issuer = self._line()

    def serve(self, callback: str) -> None:
        """Begins to answer, for a client at this address."""
        assert self._process.stdin
        client = {"client_id": CLIENT_ID, "client_secret": CLIENT_SECRET, "redirect_uris": [callback]}
        self._process.stdin.write(json.dumps({"client": client, "verified": True}) + "\n")
        self._process.stdin.flush()
        assert self._line() == "ready"

    def stop(self) -> None:
        self._process.kill()
        self._process.communicate()

    def _line(self) -> str:
        assert self._process.stdout
        return self._process.stdout.readline().strip()


def _installed(npm: list[str], environment: dict[str, str]) -> Path:
    CACHE.mkdir(parents=True, exist_ok=True)
    folder = CACHE / VERSION
    with (CACHE / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            scratch = Path(tempfile.mkdtemp(dir=CACHE))
            try:
                argv = [*npm, "install", "--silent", "--prefix", str(scratch / "made"), f"oidc-provider@{VERSION}"]
                subprocess.run(argv, check=True, capture_output=True, env=environment, timeout=_INSTALL_SECONDS)
                (scratch / "made").rename(folder)
            finally:
                shutil.rmtree(scratch)
    return folder
