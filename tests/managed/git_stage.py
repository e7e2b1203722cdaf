"""Git repositories over HTTP, one of them behind a token."""

import base64
import functools
import subprocess
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

TOKEN = "ghp_0123456789abcdef"


class Handler(SimpleHTTPRequestHandler):
    def do_GET(self) -> None:
        wanted = "Basic " + base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        if self.path.startswith("/forbidden"):
            self.send_error(403)
        elif self.path.startswith("/private") and self.headers.get("authorization") != wanted:
            self.send_response(401)
            self.send_header("www-authenticate", 'Basic realm="git"')
            self.end_headers()
        else:
            super().do_GET()

    def log_message(self, format: str, *args: object) -> None:
        return


def git(folder: Path, *words: str) -> str:
    settings = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
    return subprocess.run(
        ["git", *settings, *words], cwd=folder, check=True, capture_output=True, text=True
    ).stdout.strip()


@contextmanager
def git_stage(folder: Path) -> Generator[tuple[str, str]]:
    """Yields the address, and the first commit of `private/project.git`, which also has a branch `next`."""
    work = folder / "work"
    work.mkdir(parents=True)
    git(work, "init", "-q")
    (work / "README.md").write_text("first\n")
    git(work, "add", ".")
    git(work, "commit", "-qm", "first")
    first = git(work, "rev-parse", "HEAD")
    (work / "README.md").write_text("second\n")
    git(work, "commit", "-qam", "second")
    git(work, "branch", "next", first)
    served = folder / "served"
    (served / "private").mkdir(parents=True)
    bare = served / "private" / "project.git"
    git(folder, "clone", "-q", "--bare", str(work), str(bare))
    git(bare, "update-server-info")
    with ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}", first
        server.shutdown()
        thread.join()
