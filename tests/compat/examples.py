"""Runs examples of Anthropic's SDKs on Claude Code with a scripted model."""

import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from everyagent.testing.daemon import TOKEN
from tests.agents.claude.claude_stage import environment
from tests.agents.stage import daemon_of
from tests.managed.raw import TOOLSET, Raw
from tests.managed.test_managed_on_real_agents import SURROUNDINGS
from tests.managed.test_work_queue import SELF_HOSTED, key_of, queue_of
from tests.node_packages import LIMIT_SECONDS
from tests.scripted.messages_replies import calls, say
from tests.scripted.messages_server import MessagesServer
from tests.waiting import wait_until

PWD = ("mcp__everyagent__bash", {"command": "pwd"})
TIME = ("mcp__everyagent__current_time", {})


class Example(NamedTuple):
    """A program, and what it prints if it has worked. `given` makes its environment variables."""

    file: str
    prints: str
    given: Callable[[Raw], Mapping[str, str]] = lambda _: {}


def a_token(_: Raw) -> dict[str, str]:
    """For a server that does not answer here."""
    return {"GITHUB_TOKEN": "github_pat_none"}


def self_hosted(raw: Raw) -> dict[str, str]:
    raw.create(TOOLSET, environment=SELF_HOSTED)
    return {"ANTHROPIC_ENVIRONMENT_ID": queue_of(raw).split("/")[2], "ANTHROPIC_ENVIRONMENT_KEY": key_of(raw)}


def claimed(raw: Raw) -> dict[str, str]:
    """Variables of a piece of work that was claimed and acknowledged."""
    tool = {"type": "custom", "name": "current_time", "description": "The time.", "input_schema": {"type": "object"}}
    raw.create(TOOLSET, tool, agent="claude", model="claude-sonnet-5-5", environment=SELF_HOSTED)
    raw.say("Tell the hour.")
    work = wait_until(lambda: raw.call("GET", f"{queue_of(raw)}/poll"))
    raw.call("POST", f"{queue_of(raw)}/{work['id']}/ack")
    return {
        "ANTHROPIC_WORK_ID": str(work["id"]),
        "ANTHROPIC_ENVIRONMENT_ID": queue_of(raw).split("/")[2],
        "ANTHROPIC_SESSION_ID": raw.session_id,
        "ANTHROPIC_ENVIRONMENT_KEY": key_of(raw),
    }


def scripted(model: MessagesServer, workdir: Path) -> None:
    replies = (
        say("Hello, user.", when="Hello Claude!"),
        calls(("mcp__everyagent__get_weather", {"city": "Oslo"}), when="List every tool"),
        say("A toolset and a tool.", when="temperature_c"),
        calls(("Bash", {"command": "cat mnt/session/uploads/data.csv"}), when="tell me the column names"),
        say("alpha, bravo and charlie", when="alpha,bravo,charlie"),
        calls(TIME, PWD, when="What is the current time?"),
        say("It is late.", when=str(workdir)),
        calls(PWD, when="Run pwd and then ls"),
        say("You are here.", when=str(workdir)),
        say("Waves.", when="haiku"),
        calls(TIME, when="Tell the hour."),
    )
    for reply in replies:
        reply.times = 9  # Claude Code asks for titles, too
    model.script.add(*replies)


class Running(NamedTuple):
    example: Example
    process: subprocess.Popen[str]

    def works(self, limit: float) -> bool:
        try:
            printed, _ = self.process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            self.process.kill()
            printed, _ = self.process.communicate()
        worked = self.process.returncode == 0 and self.example.prints in printed
        if not worked:
            sys.stdout.write(f"{self.example.file} ended with {self.process.returncode}:\n{printed}\n")
        return worked


def run_all(
    folder: Path,
    words: Sequence[str],
    examples: Sequence[Example],
    variables: Mapping[str, str],
    limit: float = LIMIT_SECONDS,
) -> list[bool]:
    """Whether each example works. The first one polls for a minute whatever happens, so that it runs beside the others.

    `words` are the command before a file's name.
    """
    home, workdir = folder / "home", folder / "by the worker"
    for each in (home, workdir):
        each.mkdir()
    with MessagesServer() as model:
        scripted(model, workdir)
        surroundings = SURROUNDINGS["claude"](home) | environment(home, model)
        with daemon_of(folder, "--default-agent", "claude", **surroundings) as daemon:
            raw = Raw(daemon)

            def start(example: Example) -> Running:
                given = {
                    "HOME": str(home),
                    "ANTHROPIC_API_KEY": TOKEN,
                    "ANTHROPIC_BASE_URL": f"{raw.url}/anthropic",
                    "ANTHROPIC_WORKDIR": str(workdir),
                    **variables,
                    **example.given(raw),
                }
                command = [*words, example.file]
                out = subprocess.PIPE
                return Running(
                    example, subprocess.Popen(command, env=given, stdout=out, stderr=subprocess.STDOUT, text=True)
                )

            polling = start(examples[0])
            others = [start(example).works(limit) for example in examples[1:]]
            works = [polling.works(limit), *others]
            raw.close()
    return works
