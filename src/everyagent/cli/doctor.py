"""`everyagent doctor`: what is set up, what is missing, what to do about it."""

from collections.abc import Iterator
from typing import Literal

import anyio
from msgspec import Struct
from rich.text import Text

from everyagent.cli import checks
from everyagent.cli.checks import Finding
from everyagent.cli.exits import Exit
from everyagent.cli.own import reach_agents
from everyagent.cli.screen import out, print_json
from everyagent.cli.target import HERE, Target
from everyagent.client.shapes import AgentInfo, Health
from everyagent.config import origins

_MARKS: dict[Literal["ok", "note", "bad"], tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("!", "yellow"),
    "bad": ("✗", "red"),
}


class Answers(Struct, frozen=True):
    """`url` is None when nobody runs, and the agents were asked by ourselves."""

    url: str | None
    health: Health
    agents: list[AgentInfo]


def doctor(*, target: Target = HERE) -> int:
    """What is set up, what is missing, what to do. Exit code 1 if something does not work."""
    settings = target.settings()
    answers = anyio.run(_ask, target, backend_options={"use_uvloop": True})
    findings = [
        *checks.machine(settings),
        *checks.settings(origins({"data_dir": target.data_dir, "token": target.token})),
        *_daemon(answers),
        *_agents(answers.agents),
    ]
    if target.json:
        print_json(findings)
    else:
        for finding in findings:
            mark, style = _MARKS[finding.state]
            out().print(Text.assemble((mark, style), f" {finding.what:<12} {finding.found}"), soft_wrap=True)
            if finding.advice:
                out().print(Text(f"{'':14} → {finding.advice}", style="dim"), soft_wrap=True)
    return Exit.FAILED if any(finding.state == "bad" for finding in findings) else Exit.OK


async def _ask(target: Target) -> Answers:
    async with reach_agents(target) as reached:
        health, agents = await reached.client.health(), await reached.client.agents()
        return Answers(None if reached.own else reached.client.url, health, agents)


def _daemon(answers: Answers) -> Iterator[Finding]:
    if answers.url is None:
        yield Finding("note", "daemon", "not running", "everyagent serve")
    else:
        yield Finding("ok", "daemon", f"{answers.url}, version {answers.health.version}")


def _agents(agents: list[AgentInfo]) -> Iterator[Finding]:
    for agent in agents:
        yield _agent(agent)
        if agent.unknown_frames:
            found = f"{agent.unknown_frames} frames that nobody knows since the daemon started"
            yield Finding(
                "note", agent.id, found, "everyagent sessions tail SESSION --types agent.unparsed --raw --json"
            )


def _agent(agent: AgentInfo) -> Finding:
    if not agent.installed:
        return Finding("note", agent.id, agent.problem or "not installed", f"everyagent agents install {agent.id}")
    found = " ".join(word for word in (agent.version, f"at {agent.path}" if agent.path else None) if word)
    if agent.login:
        found += f", logged in as {agent.login}"
    if agent.problem:
        return Finding("bad", agent.id, f"{found}: {agent.problem}".lstrip(": "))
    if not agent.credentials_available:
        return Finding("note", agent.id, f"{found}, nobody is logged in", f"log in with {agent.id}'s own command")
    if agent.tested_version and agent.version != agent.tested_version:
        advice = f"everyagent agents install {agent.id} --reinstall"
        return Finding("note", agent.id, f"{found}; tested with {agent.tested_version}", advice)
    return Finding("ok", agent.id, found or "built in")
