"""`everyagent agents`: what there is, and installing it."""

from typing import Annotated

import anyio
from cyclopts import App, Parameter

from everyagent.cli.exits import EPILOGUE, Exit, Failure
from everyagent.cli.own import reach_agents
from everyagent.cli.progress import waiting
from everyagent.cli.screen import print_json, print_table, say
from everyagent.cli.target import HERE, Target
from everyagent.client.shapes import AgentInfo

app = App(name="agents", help="What agents there are; install them.", help_epilogue=EPILOGUE)


@app.command(name="list")
def list_agents(*, target: Target = HERE) -> None:
    """What is installed, in which version, and who is logged in."""
    infos = anyio.run(_infos, target, backend_options={"use_uvloop": True})
    if target.json:
        print_json(infos)
        return
    print_table(("AGENT", "INSTALLED", "VERSION", "TESTED WITH", "LOGIN", "PROBLEM"), [_row(info) for info in infos])


@app.command
def install(
    *agents: str,
    reinstall: Annotated[bool, Parameter(negative=(), show_default=False)] = False,
    target: Target = HERE,
) -> None:
    """Fetch agents into the data folder, in the versions that were tested.

    Parameters
    ----------
    agents
        Which: claude codex opencode amp
    reinstall
        Also if they are there already.
    """
    if not agents:
        raise Failure("Say which agents to install: everyagent agents install claude codex amp", Exit.USAGE)
    infos = anyio.run(_install, target, agents, reinstall, backend_options={"use_uvloop": True})
    if target.json:
        print_json(infos)


async def _infos(target: Target) -> list[AgentInfo]:
    async with reach_agents(target) as reached:
        return await reached.client.agents()


async def _install(target: Target, agents: tuple[str, ...], reinstall: bool) -> list[AgentInfo]:
    async with reach_agents(target) as reached:
        for agent in agents:
            with waiting(f"Installing {agent}"):
                await reached.client.install(agent, reinstall=reinstall)
            say(f"Installed {agent}.")
        return [info for info in await reached.client.agents() if info.id in agents]


def _row(info: AgentInfo) -> tuple[str, ...]:
    login = info.login or ("yes" if info.credentials_available else "no")
    return (
        info.id,
        "yes" if info.installed else "no",
        info.version or "",
        info.tested_version or "",
        login if info.installed else "",
        info.problem or "",
    )
