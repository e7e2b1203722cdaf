"""`everyagent doctor`: checks this installation, its settings and its agents."""

from collections.abc import Iterator
from typing import Literal

import anyio
from msgspec import Struct
from rich.text import Text

from everyagent.cli import doctor_checks
from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions, NoDaemon
from everyagent.cli.doctor_checks import Finding
from everyagent.cli.exit_codes import ExitCode
from everyagent.cli.output import out, print_json
from everyagent.client import ApiError, ClientError
from everyagent.client.calls.agents import AgentSummary
from everyagent.config import origins
from everyagent.model.responses import Health
from everyagent.model.sessions import UnknownFrame

_MARKS: dict[Literal["ok", "note", "bad"], tuple[str, str]] = {
    "ok": ("✓", "green"),
    "note": ("!", "yellow"),
    "bad": ("✗", "red"),
}


class DaemonReport(Struct, frozen=True):
    """`url` is None if no daemon runs, or `refused` our token, and an embedded one was asked.

    `unknown` is an agent's newest frame that could not be decoded.
    """

    url: str | None
    refused: str | None
    health: Health
    agents: list[AgentSummary]
    unknown: dict[str, UnknownFrame]


def doctor(*, options: DaemonOptions = DEFAULT_OPTIONS) -> int:
    """Check this installation, its settings and its agents. Exit code 1 if something does not work."""
    settings = options.settings()
    report = anyio.run(_ask, options, backend_options={"use_uvloop": True})
    findings = [
        *doctor_checks.machine(settings),
        *doctor_checks.settings(origins({"data_dir": options.data_dir, "token": options.token})),
        *_daemon(report),
        *_isolation(report.agents),
        *_agents(report),
    ]
    if options.json:
        print_json(findings)
    else:
        for finding in findings:
            mark, style = _MARKS[finding.state]
            out().print(Text.assemble((mark, style), f" {finding.what:<12} {finding.found}"), soft_wrap=True)
            if finding.advice:
                out().print(Text(f"{'':14} → {finding.advice}", style="dim"), soft_wrap=True)
    return ExitCode.FAILED if any(finding.state == "bad" for finding in findings) else ExitCode.OK


async def _ask(options: DaemonOptions) -> DaemonReport:
    async with connect_without_sessions(options) as connection:
        health, agents = await connection.client.health(), await connection.client.agents()
        refused = await _refusing(options) if connection.embedded else None
        frames = [(each.id, await connection.client.unknown_frames(each.id)) for each in agents if each.unknown_frames]
        unknown = {agent: found[0] for agent, found in frames if found}
        return DaemonReport(None if connection.embedded else connection.client.url, refused, health, agents, unknown)


async def _refusing(options: DaemonOptions) -> str | None:
    """The address of a daemon that runs, but does not accept our token."""
    try:
        async with options.async_client() as client:
            await client.me()
    except ApiError as error:
        return options.find()[0] if error.status == 401 else None
    except (ClientError, NoDaemon):
        return None
    return None


def _daemon(report: DaemonReport) -> Iterator[Finding]:
    if report.refused:
        found = f"{report.refused} does not accept this token"
        yield Finding("bad", "daemon", found, "pass its token with --token or EVERYAGENT_TOKEN, or name its --data-dir")
    elif report.url is None:
        yield Finding("note", "daemon", "not running", "everyagent serve")
    else:
        yield Finding("ok", "daemon", f"{report.url}, version {report.health.version}")


def _isolation(agents: list[AgentSummary]) -> Iterator[Finding]:
    """The isolation of sessions that name none; it is the same for all agents."""
    if not agents:
        return
    level, available = agents[0].isolation, agents[0].isolations
    if level is None:
        advice = f"choose another with --isolation or --min-isolation; available: {', '.join(available) or 'none'}"
        yield Finding("bad", "isolation", "the configured level is not available, so sessions are refused", advice)
    elif level == "none":
        found = "none: agents can read and change everything that you can"
        yield Finding("note", "isolation", found, "docs/security.md says what namespace needs")
    else:
        yield Finding("ok", "isolation", level)


def _agents(report: DaemonReport) -> Iterator[Finding]:
    for agent in report.agents:
        yield _agent(agent)
        if frame := report.unknown.get(agent.id):
            found = f"{agent.unknown_frames} unknown frames since the daemon started; the newest: {frame.error}"
            yield Finding("note", agent.id, found, f"everyagent sessions export {frame.session_id} --format case")


def _agent(agent: AgentSummary) -> Finding:
    if not agent.installed:
        return Finding("note", agent.id, agent.problem or "not installed", f"everyagent agents install {agent.id}")
    found = " ".join(word for word in (agent.version, f"at {agent.path}" if agent.path else None) if word)
    if agent.login:
        found += f", logged in as {agent.login}"
    if agent.problem:
        return Finding("bad", agent.id, f"{found}: {agent.problem}".lstrip(": "))
    if not agent.credentials_available:
        return Finding("note", agent.id, f"{found}, not logged in", agent.login_command or "see its documentation")
    if agent.tested_version and agent.version != agent.tested_version:
        advice = f"everyagent agents install {agent.id} --reinstall"
        return Finding("note", agent.id, f"{found}; tested with {agent.tested_version}", advice)
    return Finding("ok", agent.id, found or "built in")
