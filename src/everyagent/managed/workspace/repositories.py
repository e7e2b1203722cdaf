"""Clones git repositories for sessions. The token is given only to the git process, and never written to disk."""

import base64
import os
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias
from urllib.parse import urlsplit

from msgspec import Struct

from everyagent.errors import AgentFailed
from everyagent.held_folders import held
from everyagent.managed.packages.subprocesses import Child
from everyagent.managed.workspace.shape import BranchCheckout, CommitCheckout, RepositoryParams, RepositoryResource

Repository: TypeAlias = RepositoryParams | RepositoryResource
CLONE_LIMIT_SECONDS = 600.0
_ERROR_BYTES = 500


class RepositoryProblem(Struct, frozen=True, kw_only=True):
    """`type` is one of the API's `repository_*_error` types."""

    type: str
    message: str
    repository_url: str


def clone(
    resource: Repository, token: str | None, root: Path, parts: Sequence[str], child: Child
) -> RepositoryProblem | None:
    """Blocking. Clones the repository to a place below `root`, the session's folder, through no link.

    Returns the problem, with nothing in the place, if that fails.
    """
    *parents, name = parts
    git = shutil.which("git")
    if git is None:
        return _problem(resource, "repository_clone_error", "There is no git on the daemon's machine.")
    folder = Path(tempfile.mkdtemp(prefix=".", suffix=".cloning", dir=root.parent))
    draft = folder / name
    environment = _environment(resource.url, token)
    branch = ["--branch", resource.checkout.name] if isinstance(resource.checkout, BranchCheckout) else []
    try:
        _git([git, "clone", "--quiet", *branch, "--", resource.url, str(draft)], environment, child)
        if isinstance(resource.checkout, CommitCheckout):
            _git([git, "-C", str(draft), "checkout", "--quiet", "--detach", resource.checkout.sha], environment, child)
        with held(root, parents, create=True) as parent:
            os.rename(draft, name, dst_dir_fd=parent)
    except subprocess.TimeoutExpired:
        return _problem(resource, "repository_clone_error", f"git took more than {CLONE_LIMIT_SECONDS:.0f} seconds.")
    except subprocess.CalledProcessError as error:
        message = str(error.stderr).strip()
        return _problem(resource, _error_type(message, "checkout" in error.cmd), _hidden(message, token))
    except (OSError, AgentFailed) as error:
        return _problem(resource, "repository_checkout_error", str(error))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return None


def _git(argv: list[str], environment: dict[str, str], child: Child) -> None:
    with tempfile.TemporaryFile() as output:
        code = child.run(argv, environment=environment, output=output, limit=CLONE_LIMIT_SECONDS, folder=Path("/"))
        if code:
            output.seek(max(0, output.seek(0, os.SEEK_END) - _ERROR_BYTES))
            raise subprocess.CalledProcessError(code, argv, stderr=output.read().decode("utf-8", "replace"))


def _environment(url: str, token: str | None) -> dict[str, str]:
    """Settings for git as variables, which no list of processes shows."""
    passed = {name: os.environ[name] for name in ("PATH", "HOME", "SSL_CERT_FILE", "LANG") if name in os.environ}
    settings = {"credential.helper": "", "http.followRedirects": "initial"}
    if token:
        parts = urlsplit(url)
        pair = base64.b64encode(f"x-access-token:{token}".encode()).decode()
        settings[f"http.{parts.scheme}://{parts.netloc}/.extraHeader"] = f"Authorization: Basic {pair}"
    environment = passed | {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": "https:http",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_COUNT": str(len(settings)),
    }
    for number, (name, value) in enumerate(settings.items()):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def _error_type(message: str, checking_out: bool) -> str:
    lower = message.lower()
    if checking_out or "remote branch" in lower:
        return "repository_checkout_error"
    if "returned error: 403" in lower:
        return "repository_forbidden_error"
    if any(words in lower for words in ("authentication failed", "returned error: 401", "could not read username")):
        return "repository_authentication_error"
    if "not found" in lower or "returned error: 404" in lower:
        return "repository_not_found_error"
    return "repository_clone_error"


def _problem(resource: Repository, type: str, message: str) -> RepositoryProblem:
    return RepositoryProblem(type=type, message=message or "git failed without a message.", repository_url=resource.url)


def _hidden(text: str, token: str | None) -> str:
    return text.replace(token, "***") if token else text
