"""`everyagent agents`: lists, installs, logs in, adds and checks agents."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import anyio
from cyclopts import App, Parameter
from rich import filesize

from everyagent.cli.daemon_connection import connect_without_sessions
from everyagent.cli.daemon_options import DEFAULT_OPTIONS, DaemonOptions
from everyagent.cli.exit_codes import EPILOGUE, CliFailure, ExitCode
from everyagent.cli.output import print_json, print_table, say
from everyagent.cli.progress import downloading
from everyagent.client import AsyncClient
from everyagent.client.calls.agents import AgentSummary
from everyagent.config import ConfigError, add_own_agent
from everyagent.model.agents import OwnAgent

#: The time between two looks at the progress of an installation.
PROGRESS_SECONDS = 0.5

app = App(name="agents", help="List, install, log in, add and check coding agents.", help_epilogue=EPILOGUE)


@app.command(name="list")
def list_agents(*, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """List all agents: whether they are installed, their version and their login."""
    infos = anyio.run(_infos, options, backend_options={"use_uvloop": True})
    if options.json:
        print_json(infos)
        return
    print_table(("AGENT", "INSTALLED", "LOGIN", "VERSION", "TESTED WITH", "PROBLEM"), [_row(info) for info in infos])


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
        The agents to install: claude codex opencode amp copilot gemini qwen kimi goose pi vibe cline auggie droid
    reinstall
        Install again, even if the agent is installed already.
    """
    if not agents:
        raise CliFailure("No agent named. Example: everyagent agents install claude codex amp", ExitCode.USAGE)
    infos = anyio.run(_install, options, agents, reinstall, backend_options={"use_uvloop": True})
    if options.json:
        print_json(infos)


@app.command
def login(
    name: str,
    /,
    *arguments: Annotated[str, Parameter(allow_leading_hyphen=True)],
    options: DaemonOptions = DEFAULT_OPTIONS,
) -> int:
    """Log in to an agent: runs the login of its own program in this terminal. Run it as the user the daemon runs as.

    Example: everyagent agents login codex -- --with-api-key

    Parameters
    ----------
    name
        The agent to log in to.
    arguments
        More arguments for the program's own command, after `--`.
    """
    from everyagent.agents import packages
    from everyagent.agents.logins import LOGIN_ARGUMENTS

    infos = anyio.run(_infos, options, backend_options={"use_uvloop": True})
    info = next((each for each in infos if each.id == name), None)
    if info is None:
        there = ", ".join(each.id for each in infos)
        raise CliFailure(f"There is no agent {name!r}. There is: {there}.", ExitCode.NOT_FOUND)
    if name not in LOGIN_ARGUMENTS:
        raise CliFailure(f"{info.title or name} needs no login of everyagent's.")
    if not info.installed or not info.path:
        raise CliFailure(f"{info.title} is not installed. Run `everyagent agents install {name}` first.")
    if not Path(info.path).exists():
        raise CliFailure(f"There is no {info.path} here. Log in on the machine on which the daemon runs.")
    start = [packages.node(20), info.path] if packages.is_script(info.path) else [info.path]
    return subprocess.run([*start, *LOGIN_ARGUMENTS[name], *arguments], check=False).returncode


@app.command
def add(
    name: str,
    /,
    *command: Annotated[str, Parameter(allow_leading_hyphen=True)],
    title: Annotated[str | None, Parameter(show_default=False)] = None,
) -> None:
    """Add an agent of your own, which speaks the Agent Client Protocol over stdio, to config.toml.

    A running daemon finds it at once. Example: everyagent agents add mine -- my-agent --acp

    Parameters
    ----------
    name
        A name for it: small letters, digits and hyphens.
    command
        The command that starts it, after `--`.
    title
        Its name for people.
    """
    if not command:
        raise CliFailure("No command given. Example: everyagent agents add mine -- my-agent --acp", ExitCode.USAGE)
    from everyagent.agents.registry import KNOWN_AGENTS

    if name in KNOWN_AGENTS:
        raise CliFailure(f"{name} is the name of a known agent. Choose another.", ExitCode.USAGE)
    agent = OwnAgent(command=list(command), title=title)
    try:
        path = add_own_agent(name, agent)
    except ConfigError as problem:
        raise CliFailure(str(problem), ExitCode.USAGE) from problem
    say(f"Added {name} to {path}.")


@app.command
def check(name: str, /, *, options: DaemonOptions = DEFAULT_OPTIONS) -> None:
    """Run and check real sessions of an agent, and report what it does. It needs a login and spends some requests.

    Exits with 1 if anything failed. What an agent does not offer is no failure.

    Parameters
    ----------
    name
        The agent to check.
    """
    try:
        from everyagent.cli.agent_check import check as run_check
    except ImportError as missing:  # the order rules are in an extra
        raise CliFailure(f"{missing} In a checkout: .venv/bin/pip install pytest hypothesis") from missing

    report = anyio.run(run_check, options, name, backend_options={"use_uvloop": True})
    if options.json:
        print_json(report)
    else:
        print_table(("CHECK", "RESULT", "DETAIL"), [(each.what, each.state, each.detail) for each in report])
    if any(each.seen is False for each in report):
        raise CliFailure(f"{name} does not do everything that it should.")


async def _infos(options: DaemonOptions) -> list[AgentSummary]:
    async with connect_without_sessions(options) as connection:
        return await connection.client.agents()


async def _install(options: DaemonOptions, agents: tuple[str, ...], reinstall: bool) -> list[AgentSummary]:
    async with connect_without_sessions(options) as connection:
        for agent in agents:
            client = connection.client
            with downloading(f"Installing {agent}") as show:
                async with anyio.create_task_group() as group:
                    group.start_soon(_watch, client, agent, show)
                    await client.install(agent, reinstall=reinstall)
                    group.cancel_scope.cancel()
            done = await client.installation(agent)
            say(f"Installed {agent} ({filesize.decimal(done.bytes)}).")
        return [info for info in await connection.client.agents() if info.id in agents]


async def _watch(client: AsyncClient, agent: str, show: Callable[[int], None]) -> None:
    while True:
        await anyio.sleep(PROGRESS_SECONDS)
        show((await client.installation(agent)).bytes)


def _row(info: AgentSummary) -> tuple[str, ...]:
    login = info.login or ("yes" if info.credentials_available else "no")
    return (
        info.id,
        "yes" if info.installed else "no",
        login if info.installed else "",
        info.version or "",
        info.tested_version or "",
        info.problem or "",
    )
