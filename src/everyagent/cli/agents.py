"""`everyagent agents`: lists and installs agents."""

from typing import Annotated

import anyio
from cyclopts import App, Parameter

from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import print_json, print_table, say
from everyagent.cli.progress import waiting
from everyagent.client.calls.agents import AgentSummary

app = App(name="agents", help="List and install coding agents.", help_epilogue=EPILOGUE)


@app.command(name="list")
def list_agents(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List all agents: whether they are installed, their version and their login."""
    infos = anyio.run(_infos, options, backend_options={"use_uvloop": True})
    if options.json:
        print_json(infos)
        return
    print_table(("AGENT", "INSTALLED", "VERSION", "TESTED WITH", "LOGIN", "PROBLEM"), [_row(info) for info in infos])


@app.command
def install(
    *agents: str,
    reinstall: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> None:
    """Install the tested versions of agents into the data folder.

    Parameters
    ----------
    agents
        The agents to install: claude codex opencode amp
    reinstall
        Install again, even if the agent is installed already.
    """
    if not agents:
        raise CliFailure("No agent named. Example: everyagent agents install claude codex amp", ExitCode.USAGE)
    infos = anyio.run(_install, options, agents, reinstall, backend_options={"use_uvloop": True})
    if options.json:
        print_json(infos)


async def _infos(options: DaemonOptions) -> list[AgentSummary]:
    async with connect_without_sessions(options) as connection:
        return await connection.client.agents()


async def _install(options: DaemonOptions, agents: tuple[str, ...], reinstall: bool) -> list[AgentSummary]:
    async with connect_without_sessions(options) as connection:
        for agent in agents:
            with waiting(f"Installing {agent}"):
                await connection.client.install(agent, reinstall=reinstall)
            say(f"Installed {agent}.")
        return [info for info in await connection.client.agents() if info.id in agents]


def _row(info: AgentSummary) -> tuple[str, ...]:
    login = info.login or ("yes" if info.credentials_available else "no")
    return (
        info.id,
        "yes" if info.installed else "no",
        info.version or "",
        info.tested_version or "",
        login if info.installed else "",
        info.problem or "",
    )
