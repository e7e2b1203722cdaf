"""Every command that a document, an error or a help text names exists, and the examples of the pages work as pasted."""

import io
import json
import re
import shlex
import subprocess
import sys
import tokenize
import tomllib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import httpx2
import pytest
import yaml
from command_line import environment
from cyclopts import CycloptsError, MissingArgumentError
from tests.waiting import LIMIT_SECONDS, wait_until
from tests.webhooks.receiver import receiving
from tests.webhooks.sending_daemon import FLAGS

from everyagent.cli.app import app
from everyagent.testing.daemon import NO_TLS, TOKEN, DaemonProcess

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted((ROOT / "deploy").rglob("*.md")),
    ROOT / "examples" / "README.md",
    ROOT / "clients" / "typescript" / "README.md",
]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
_INLINE = re.compile(r"`everyagent ([^`]+)`")
_PRINTED = re.compile(r"^\s*f?\"  everyagent ([^\"]+)\"", re.MULTILINE)
_FENCED = re.compile(r"^```(\w*)\n(.*?)^```", re.DOTALL | re.MULTILINE)
_PLACEHOLDER = re.compile(r"\{[^{}]*\}|…|\.\.\.")

PAGES = ("deploy", "keys", "managed-agents", "runners", "webhooks", "worktrees", "checkpoints")
#: The blocks that tests below paste into a shell.
PASTED = [(f"docs/{page}.md", "sh") for page in PAGES]
#: What tries the blocks of a document in a language, if it is not a test below.
TRIED_BY = {
    ("README.md", "sh"): "tests/test_readme.py",
    ("README.md", "python"): "tests/test_readme.py",
    ("docs/cli.md", "sh"): "tests/cli/test_cli_docs.py",
    ("docs/client.md", "python"): "tests/client/test_client_docs.py",
    ("docs/client.md", "ts"): "tests/inspector/test_typescript_client.py",
    ("clients/typescript/README.md", "ts"): "tests/inspector/test_typescript_client.py",
    ("docs/webhooks.md", "python"): "tests/webhooks/test_webhook_docs.py",
    ("docs/webhooks.md", "typescript"): "tests/webhooks/test_webhook_docs.py",
    ("docs/managed-agents.md", "python"): "tests/managed/flows/worker.py",
    ("docs/telemetry.md", "sh"): "tests/telemetry/test_telemetry.py",
    ("examples/README.md", "sh"): "tests/examples/test_examples.py",
    ("docs/security.md", "sh"): "tests/isolation/test_containers.py",
}
#: Documents whose commands are targets of the Makefile.
MADE = ("CONTRIBUTING.md", "docs/performance.md", "docs/reliability.md")


class Block(NamedTuple):
    document: str
    language: str
    text: str


def blocks(document: Path) -> list[Block]:
    name = document.relative_to(ROOT).as_posix()
    return [Block(name, language, text) for language, text in _FENCED.findall(document.read_text())]


def texts_of(source: Path) -> str:
    """The text constants of a program, with what f-strings insert as it is written."""
    tokens = tokenize.generate_tokens(io.StringIO(source.read_text()).readline)
    return re.sub(r'"\s*\n?f?"', "", "".join(token.string for token in tokens if token.type == tokenize.STRING))


def commands(document: Path) -> Iterator[str]:
    prose = document.suffix == ".md"
    yield from _INLINE.findall((document.read_text() if prose else texts_of(document)).replace("\n", " "))
    if not prose:
        yield from _PRINTED.findall(document.read_text())
    else:
        for block in blocks(document):
            if block.language in ("", "sh"):
                for line in block.text.replace("\\\n", "").splitlines():
                    yield from re.findall(r"(?:^|\$\(|\| )(?:\.venv/bin/)?everyagent ([^|)]*)", line)


def unknown(words: str) -> str | None:
    """Why there is no such command, if there is none. Arguments may be left out in a sentence."""
    try:
        app.parse_args(shlex.split(_PLACEHOLDER.sub("1", words), comments=True), exit_on_error=False, print_error=False)
    except MissingArgumentError:
        return None
    except CycloptsError as error:
        return f"everyagent {words}: {error}"
    return None


def test_every_command_that_is_named_exists():
    named = {words: file.name for file in (*DOCUMENTS, *SOURCES) for words in commands(file)}
    for variable in ("COMMAND --help", "{' '.join(words)}", "serve {flag}"):
        del named[variable]
    assert len(named) > 100
    assert [f"{file}: {why}" for words, file in named.items() if (why := unknown(words))] == []


def test_every_example_is_tried_somewhere():
    for block in (block for document in DOCUMENTS for block in blocks(document)):
        where = (block.document, block.language)
        match block.language:
            case "json":
                assert json.loads(block.text), where
            case "toml":
                assert tomllib.loads(block.text), where
            case "yaml":
                assert yaml.safe_load(block.text), where
            case "":
                assert set("─█▏") & set(block.text), f"{where}: no drawing; name its language"
            case _:
                assert where in PASTED or where in TRIED_BY or block.document in MADE, where


def test_what_tries_the_examples_of_a_page_reads_the_page():
    for (document, _), file in TRIED_BY.items():
        assert Path(document).name in (ROOT / file).read_text(), f"{file} does not read {document}"
    own = Path(__file__).read_text()
    for document, _ in PASTED:
        assert f'shell_blocks("{Path(document).name}")' in own, document


@pytest.mark.parametrize("document", MADE)
def test_the_makefile_has_the_targets_of_a_page(document: str):
    for block in blocks(ROOT / document):
        for line in block.text.splitlines() if block.language == "sh" else ():
            words = shlex.split(line, comments=True)
            assert words[0] == "make", line
            done = subprocess.run([*words, "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr


class Shell:
    """A terminal on the daemon's machine, with `everyagent` on its path, into which examples are pasted."""

    def __init__(self, folder: Path, daemon: DaemonProcess) -> None:
        self.folder = folder
        self.url = daemon.url
        command = folder / "everyagent"
        command.write_text(f'#!/bin/sh\nexec {sys.executable} -m everyagent "$@"\n')
        command.chmod(0o700)
        self._environment = environment(daemon.data_dir)
        self._environment |= {"PATH": f"{folder}:{self._environment['PATH']}", "HOME": str(folder)}
        self._environment |= {"EVERYAGENT_URL": daemon.url, "EVERYAGENT_TOKEN": TOKEN, "TOKEN": TOKEN}

    def start(self, text: str, replaced: dict[str, str]) -> "subprocess.Popen[str]":
        """`replaced` are the names and addresses that a reader replaces by their own."""
        for name, own in replaced.items():
            assert name in text, f"{name} is not in the example: {text}"
            text = text.replace(name, own)
        pipe = subprocess.PIPE
        return subprocess.Popen(
            ["sh", "-ec", text], env=self._environment, cwd=self.folder, stdout=pipe, stderr=pipe, text=True
        )

    def paste(self, text: str, replaced: dict[str, str]) -> str:
        with self.start(text, replaced) as process:
            printed, said = process.communicate(timeout=LIMIT_SECONDS)
        assert process.returncode == 0, f"{text}\n{printed}{said}"
        return printed


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Generator[Shell]:
    folder = tmp_path_factory.mktemp("pasted")
    daemon = DaemonProcess(folder / "data", *FLAGS)
    daemon.start()
    yield Shell(folder, daemon)
    daemon.stop()


def shell_blocks(page: str) -> list[str]:
    return [block.text for block in blocks(ROOT / "docs" / page) if block.language == "sh"]


def the_one(pattern: str, printed: str) -> str:
    (found,) = set(re.findall(pattern, printed))
    return found


def test_the_examples_of_keys_work(shell: Shell):
    keys, audit = shell_blocks("keys.md")
    made, listed, revoked = keys.splitlines()
    shell.paste(made, {})
    key = the_one(r"key_\w+", shell.paste(listed, {}))
    shell.paste(revoked, {"KEY_ID": key})
    printed = shell.paste(audit, {})
    assert "POST /v1/keys" in printed
    assert "DELETE /v1/keys" in printed


def test_the_example_of_environment_keys_works(shell: Shell):
    (show,) = shell_blocks("managed-agents.md")
    headers = {"authorization": f"Bearer {TOKEN}", "anthropic-beta": "managed-agents-2026-04-01"}
    body = {"name": "own", "config": {"type": "self_hosted"}}
    made = httpx2.post(f"{shell.url}/anthropic/v1/environments", json=body, headers=headers, verify=NO_TLS)
    own = {"http://127.0.0.1:2468": shell.url, "$ENVIRONMENT": made.json()["id"]}
    assert json.loads(shell.paste(show, own))


def test_the_example_of_retention_works(shell: Shell):
    prune = shell_blocks("deploy.md")[-1]  # the first one is in tests/api/test_tls.py
    shell.paste(prune, {})


def test_the_examples_of_webhooks_work(shell: Shell):
    own, pager = shell_blocks("webhooks.md")
    with receiving() as receiver:
        added, listed, tested, delivered, replayed, removed = own.splitlines()
        shell.paste(added, {"https://hooks.example.org": receiver.url("").rstrip("/")})
        row = shell.paste(listed, {})
        webhook, cursor = the_one(r"whk_\w+", row), the_one(r"\b\d+\.\d+(?= +active)", row)
        shell.paste(tested, {"WEBHOOK_ID": webhook})
        assert "/everyagent" in [each.path for each in receiver.received]
        shell.paste('everyagent run mock "[hello]"', {})
        wait_until(lambda: "turn.ended" in shell.paste(delivered, {"WEBHOOK_ID": webhook}))
        shell.paste(replayed, {"WEBHOOK_ID": webhook, "CURSOR": cursor})
        shell.paste(removed, {"WEBHOOK_ID": webhook})
        shell.paste(pager, {"https://hooks.example.org": receiver.url("").rstrip("/")})
        shell.paste(removed, {"WEBHOOK_ID": the_one(r"whk_\w+", shell.paste(listed, {}))})


def test_the_examples_of_runners_work(shell: Shell):
    make, start, use, *deployed = shell_blocks("runners.md")
    assert [re.findall(r"deploy/[\w./-]+", each)[-1] for each in deployed] == [
        "deploy/runner",
        "deploy/systemd/everyagent-runner.service",
        "deploy/runner/kubernetes.yaml",
    ]  # Docker, systemd and Kubernetes: tests/test_deploy.py reads these files
    key = the_one(r"rkey_\S+", shell.paste(make, {}))
    work = shell.folder / "work"
    (work / "project").mkdir(parents=True)
    line = start.replace("\neveryagent", "\nexec everyagent")
    own = {"rkey_…": key, "https://agents.example.org": shell.url, "/work": f"{work} --data-dir {shell.folder}/runner"}
    with shell.start(line, own) as runner:
        try:
            wait_until(lambda: "gpu" in shell.paste("everyagent runners", {}))
            printed = shell.paste(use, {"https://agents.example.org": shell.url, "claude": "mock"})
        finally:
            runner.terminate()
            runner.communicate(timeout=LIMIT_SECONDS)
    assert '"directory"' in printed


def test_the_example_of_worktrees_works(shell: Shell):
    (block,) = shell_blocks("worktrees.md")
    begin, *later = block.splitlines()
    repository = shell.folder / "repository"
    commit = "git -c user.name=A -c user.email=a@example.org commit -q --allow-empty -m First"
    shell.paste(f"git init -q {repository}\ncd {repository}\n{commit}", {})
    shell.paste(f"cd {repository}\n{begin}", {"claude": "mock", "Fix the failing test": "[hello]"})
    session = shell.paste("everyagent sessions list --limit 1 --json", {})
    session_id = json.loads(session)[0]["sessionId"]
    printed = [shell.paste(line, {"SESSION": session_id}) for line in later]
    assert "everyagent/" in printed[0]


def test_the_example_of_checkpoints_works(shell: Shell):
    (block,) = shell_blocks("checkpoints.md")
    begin, tail, *rewinds = block.splitlines()
    own = {"claude": "mock", "Try another layout": "[hello]"}
    folder = shell.folder / "layout"
    folder.mkdir()
    shell.paste(f"cd {folder}\n{begin}", own)
    shell.paste(tail, {})
    lines = shell.paste("everyagent sessions tail layout --json", {}).splitlines()
    (ended,) = [each["sequence"] for each in map(json.loads, lines) if each["type"] == "turn.ended"]
    for rewind in rewinds:
        shell.paste(rewind, {"42": str(ended)})
