"""The TypeScript client on Node and in a browser, against a real daemon."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Route

from everyagent.testing.daemon import TOKEN, DaemonProcess
from tests.inspector.page_driver import Daemon

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def client(node_tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the built package, as `make client` makes it."""
    folder = tmp_path_factory.mktemp("client")
    build = [sys.executable, ROOT / "clients" / "typescript" / "build.py", folder]
    done = subprocess.run(build, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.fixture
def mortal(tmp_path: Path) -> Generator[DaemonProcess]:
    """A daemon that may be killed."""
    process = DaemonProcess(tmp_path / "data")
    process.start()
    yield process
    process.stop()


def test_a_program_on_node_talks_answers_and_reads_on_over_a_kill(
    client: Path, node_tools: Path, mortal: DaemonProcess, tmp_path: Path
) -> None:
    script = shutil.copy(Path(__file__).with_name("typescript_flow.mjs"), client)
    environment = {"DAEMON": mortal.url, "TOKEN": TOKEN, "DIRECTORY": str(tmp_path), "PATH": os.environ["PATH"]}
    printed: list[str] = []
    with subprocess.Popen(
        [node_tools, script], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as program:
        assert program.stdout is not None
        for line in program.stdout:
            printed.append(line.strip())
            if printed[-1] == "kill":
                mortal.kill()
                mortal.start(port=mortal.port)
    assert printed == ["kill", "done"]
    assert program.returncode == 0


@pytest.mark.parametrize("page", ["docs/client.md", "clients/typescript/README.md"])
def test_the_example_of_the_page_works(
    page: str, client: Path, node_tools: Path, mortal: DaemonProcess, tmp_path: Path
) -> None:
    (example,) = re.findall(r"```ts\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    own = {"http://127.0.0.1:2468": mortal.url, "…": TOKEN, '"claude"': '"mock"', "/srv/app": str(tmp_path)}
    for name, mine in own.items():
        example = example.replace(name, mine)
    script = client / "example.mjs"
    script.write_text(example)
    with subprocess.Popen(
        [node_tools, script],
        env={"EVERYAGENT_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as program:
        assert program.stdout is not None
        printed = ""
        for line in program.stdout:
            printed += line
            if printed.count("turn.ended") == 2:  # it goes on to wait for more events
                program.terminate()
        assert program.wait() in (0, -signal.SIGTERM), printed
    assert "Explain this repository" in printed  # the mock agent repeats its prompt


async def test_a_page_streams_text_with_it(client: Path, context: BrowserContext, daemon: Daemon) -> None:
    async def module(route: Route) -> None:
        name = route.request.url.rpartition("/")[2]
        await route.fulfill(body=(client / "dist" / name).read_text(), content_type="text/javascript")

    await context.route("**/ui/client/*.js", module)
    page = await context.new_page()
    await page.goto(f"{daemon.url}/ui/")
    seen = await page.evaluate(
        """async ([token, directory]) => {
            const { Client } = await import("/ui/client/index.js");
            const session = await new Client({ token }).create({ agent: "mock", directory });
            const texts = [];
            for await (const text of session.streamText("[text words=30]")) texts.push(text);
            return [texts.length, texts.join("").split(" ").length];
        }""",
        [TOKEN, str(daemon.folder)],
    )
    assert seen[0] > 1
    assert seen[1] == 30
